-- run_reading: how a run's decode windows are to be read. Grain: run_id. Inputs: current_ingest, raw_run, server_arg, window_count.
-- speculative: speculative_algorithm is set, or (no server_args line) some window printed an accept length; NULL when unknown.
CREATE OR REPLACE VIEW run_reading AS
SELECT
    i.run_id,
    i.ingest_id,
    i.ingested_at,
    n.name,
    CASE
        WHEN a.n IS NOT NULL THEN coalesce(a.algorithm, 'null') <> 'null'
        WHEN w.n_windows > 0 THEN w.n_accept > 0
    END AS speculative,
    coalesce(TRY_CAST(a.decode_log_interval AS INTEGER), 40) AS rounds_per_window,
    coalesce(w.n_windows, 0) AS n_windows,
    coalesce(w.n_accept, 0) AS n_accept
FROM current_ingest AS i
JOIN (SELECT ingest_id, any_value(name) AS name FROM raw_run GROUP BY ingest_id) AS n ON n.ingest_id = i.ingest_id
LEFT JOIN (
    SELECT
        run_id,
        max(value) FILTER (name = 'speculative_algorithm') AS algorithm,
        max(value) FILTER (name = 'decode_log_interval') AS decode_log_interval,
        count(*) AS n
    FROM server_arg GROUP BY run_id
) AS a ON a.run_id = i.run_id
LEFT JOIN window_count AS w ON w.run_id = i.run_id;

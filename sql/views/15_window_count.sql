-- window_count: how many decode windows a run has. Grain: run_id (only runs with windows). Inputs: current_ingest, raw_summary; for
-- runs that have no summary raw_decode_window.
CREATE OR REPLACE VIEW window_count AS
WITH counted AS (
    SELECT i.run_id, i.ingest_id, any_value(s.windows) AS n_windows, any_value(s.accept_windows) AS n_accept
    FROM current_ingest AS i JOIN raw_summary AS s ON s.ingest_id = i.ingest_id AND s.ingested_at = i.ingested_at
    GROUP BY i.run_id, i.ingest_id
)
SELECT * FROM counted WHERE n_windows > 0
UNION ALL
SELECT i.run_id, i.ingest_id, count(*) AS n_windows, count(d.accept_len_raw) AS n_accept
FROM raw_decode_window AS d
JOIN (SELECT run_id, ingest_id FROM current_ingest WHERE ingest_id NOT IN (SELECT ingest_id FROM counted)) AS i
    ON d.run_id = i.run_id AND d.ingest_id = i.ingest_id
GROUP BY i.run_id, i.ingest_id;

-- summed_run: run_reading, and the summary through which the run's levels are read if there is a valid one (summary_id, else NULL).
-- Grain: run_id. Inputs: run_reading, raw_summary, level_method. Valid: of the run's current ingest, by this speclog's method, and taking
-- the windows for what they are taken for now (an annotation may have changed whether the run speculates or how many rounds a window has).
-- Grouped on the outside so that no optimizer joins windows before it knows which runs are wanted.
CREATE OR REPLACE VIEW summed_run AS
SELECT
    r.run_id, r.ingest_id, r.ingested_at, r.name, r.speculative, r.rounds_per_window, r.n_windows, r.n_accept,
    max(s.summary_id) AS summary_id
FROM run_reading AS r
LEFT JOIN raw_summary AS s
    ON s.ingest_id = r.ingest_id AND s.ingested_at = r.ingested_at AND s.rounds_per_window = r.rounds_per_window
    AND s.speculative IS NOT DISTINCT FROM r.speculative AND s.method = (SELECT method FROM level_method)
GROUP BY
    r.run_id, r.ingest_id, r.ingested_at, r.name, r.speculative, r.rounds_per_window, r.n_windows, r.n_accept;

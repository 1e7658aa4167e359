-- raw_summary: one row a time that a run's windows were summed up, so that questions about levels read no window.
-- Grain: summary_id. Inputs: view summed_run when it was written, in the transaction of the ingest (or later: `speclog init`, `speclog gc`).
-- A summary counts only for the ingest, the meaning of the windows and the method it was made with (view summed_run); else the views sum up
-- the windows themselves, with the same result. method NULL: too many windows to sum up while ingesting; only counted.
CREATE TABLE IF NOT EXISTS raw_summary (
    summary_id VARCHAR NOT NULL,
    ingest_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    ingested_at TIMESTAMP NOT NULL,   -- of the ingest's newest row then
    method VARCHAR,                   -- digest of the SQL that did it (view level_method)
    speculative BOOLEAN,              -- as run says
    rounds_per_window INTEGER,
    windows BIGINT NOT NULL,
    accept_windows BIGINT NOT NULL,   -- with a printed accept length
    summed_at TIMESTAMP NOT NULL
);

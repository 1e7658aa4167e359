-- raw_env_scan: one row a prefix of environment variables that the manifest scanned completely. Grain: (ingest_id, prefix).
-- A variable under a scanned prefix without a raw_env_var row is known to be unset.
CREATE TABLE IF NOT EXISTS raw_env_scan (
    ingest_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    prefix VARCHAR NOT NULL,
    line_no BIGINT
);

-- raw_env_var: one row an environment variable known for a session. Grain: (ingest_id, name).
-- value NULL: known to be unset (its prefix was scanned by the manifest). No row: unknown.
CREATE TABLE IF NOT EXISTS raw_env_var (
    ingest_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    value VARCHAR,
    source VARCHAR NOT NULL,          -- 'manifest' | 'server_info'
    line_no BIGINT
);

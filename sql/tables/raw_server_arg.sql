-- raw_server_arg: one row a server argument of a session. Grain: (ingest_id, name).
-- value is canonical JSON text ('true', '5', '"fa3"', '[1,2]', 'null'), so equal values compare equal as text.
CREATE TABLE IF NOT EXISTS raw_server_arg (
    ingest_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    value VARCHAR,
    source VARCHAR NOT NULL,          -- 'server_args' | 'server_info'
    line_no BIGINT
);

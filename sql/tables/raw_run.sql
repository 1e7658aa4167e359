-- raw_run: one row a session; while a log is followed, a newer one each time rows are written (the greatest last_line
-- counts). Grain: (ingest_id, last_line). What the log itself says; derived columns are in view run.
CREATE TABLE IF NOT EXISTS raw_run (
    ingest_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,            -- file stem; '#2' is appended to the second session of a file
    engine VARCHAR NOT NULL,          -- 'sglang' | 'vllm'
    version VARCHAR,                  -- exact engine version when known, else NULL
    version_min VARCHAR,              -- inferred range when not exact
    version_max VARCHAR,
    version_source VARCHAR,           -- 'manifest' | 'log' | 'profile' | 'server_info' | 'bench' | 'inferred' | NULL
    started_at TIMESTAMP,             -- first timestamp of the session
    ended_at TIMESTAMP,               -- last timestamp
    ready_at TIMESTAMP,               -- 'fired up and ready to roll'
    utc_offset_s INTEGER,             -- known from manifest or profile lines; NULL: times are log-local
    served BOOLEAN NOT NULL,          -- at least one decode window
    end_reason VARCHAR NOT NULL,      -- 'shutdown' | 'killed' | 'crash' | 'oom' | 'open'
    synthetic BOOLEAN NOT NULL,       -- the log's first line says it is made up
    profile VARCHAR,                  -- launch profile (manifest)
    overlays VARCHAR[],
    arm VARCHAR,
    repeat INTEGER,
    argv VARCHAR[],
    host_hash VARCHAR,
    git_commit VARCHAR,
    manifest_line BIGINT,             -- line of SPECLOG_MANIFEST, NULL without one
    server_args_line BIGINT,
    last_line BIGINT                  -- of the session when this row was written
);

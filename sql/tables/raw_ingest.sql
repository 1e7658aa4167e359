-- raw_ingest: one row an accepted ingest of one session (plus later rows of the same ingest_id while a log is followed).
-- Grain: (ingest_id, ingested_at). Inputs: written last in the transaction that writes the facts; never updated.
-- Caveat: facts whose ingest_id has no row here with status 'complete' are not visible in any view.
CREATE TABLE IF NOT EXISTS raw_ingest (
    ingest_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,          -- the session: hash of its first line (or of the manifest's session id)
    source VARCHAR NOT NULL,          -- path as given on the command line
    session_index INTEGER NOT NULL,   -- 0 for the first session of the file
    sha256 VARCHAR NOT NULL,          -- of the session's bytes and its sidecars
    parser_version INTEGER NOT NULL,
    speclog_version VARCHAR NOT NULL,
    ingested_at TIMESTAMP NOT NULL,   -- UTC
    status VARCHAR NOT NULL,          -- 'complete' | 'removed' (speclog runs rm)
    bytes BIGINT,                     -- of the session's lines in the file, as uncompressed
    lines BIGINT,
    first_line BIGINT,                -- of the session in the file, 1-based
    last_line BIGINT,
    unknown_lines BIGINT,             -- lines no declared kind recognised
    unknown_samples VARCHAR[],
    sidecars VARCHAR[]
);

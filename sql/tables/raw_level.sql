-- raw_level: what level_count_of found for a run, kept. Grain: (summary_id, batch_size). Inputs: level_count_of over the run's windows.
CREATE TABLE IF NOT EXISTS raw_level (
    summary_id VARCHAR NOT NULL,
    ingest_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    batch_size INTEGER NOT NULL,
    n_windows BIGINT,
    dp_ranks BIGINT,
    n_clean BIGINT,
    tau DOUBLE,
    round_ms DOUBLE,
    round_mad_ms DOUBLE,
    tok_s DOUBLE,
    graph_off BIGINT,
    queueing BIGINT,
    first_line BIGINT,
    last_line BIGINT
);

-- raw_rank_level: what rank_level_of found for a run, kept. Grain: (summary_id, batch_size, dp_rank, pp_rank). Inputs: rank_level_of over the run.
CREATE TABLE IF NOT EXISTS raw_rank_level (
    summary_id VARCHAR NOT NULL,
    ingest_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    batch_size INTEGER NOT NULL,
    dp_rank INTEGER,
    pp_rank INTEGER,
    n BIGINT,
    graphs BIGINT,
    graph_known BIGINT,
    queueing BIGINT,
    retracting BIGINT,
    accept_sum DOUBLE,
    accept_n BIGINT,
    line_no BIGINT,
    n_steady BIGINT,
    tok_s DOUBLE,
    tau DOUBLE,
    context_min DOUBLE,
    context_max DOUBLE,
    first_line BIGINT
);

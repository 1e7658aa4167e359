-- raw_bench_result: one row a result of a client benchmark (bench_serving table or JSONL line, bench_one_batch_server).
-- Grain: (ingest_id, source, line_no). Client-side figures; doubts lists the reasons not to believe some of them.
CREATE TABLE IF NOT EXISTS raw_bench_result (
    ingest_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    source VARCHAR NOT NULL,          -- file
    line_no BIGINT NOT NULL,
    tool VARCHAR NOT NULL,            -- 'bench_serving' | 'bench_one_batch_server' | ...
    tag VARCHAR,
    backend VARCHAR,
    dataset VARCHAR,
    request_rate DOUBLE,              -- req/s; infinity when all are sent at once
    max_concurrency INTEGER,
    input_len INTEGER,
    output_len INTEGER,
    completed INTEGER,
    duration_s DOUBLE,
    total_input_tokens BIGINT,
    total_output_tokens BIGINT,
    total_output_tokens_retokenized BIGINT,
    request_req_s DOUBLE,
    input_tok_s DOUBLE,
    output_tok_s DOUBLE,
    peak_output_tok_s DOUBLE,
    total_tok_s DOUBLE,
    concurrency DOUBLE,               -- mean
    accept_len DOUBLE,                -- lifetime mean of DP rank 0, bonus included
    e2e_mean_ms DOUBLE,
    e2e_median_ms DOUBLE,
    e2e_p99_ms DOUBLE,
    ttft_mean_ms DOUBLE,
    ttft_median_ms DOUBLE,
    ttft_p99_ms DOUBLE,
    tpot_mean_ms DOUBLE,
    tpot_median_ms DOUBLE,
    tpot_p99_ms DOUBLE,
    itl_mean_ms DOUBLE,
    itl_median_ms DOUBLE,
    itl_p99_ms DOUBLE,
    doubts VARCHAR[],                 -- contradictions, in words
    extra VARCHAR
);

-- raw_decode_window: one row a 'Decode batch' line (or vLLM throughput line). Grain: (ingest_id, source_index, line_no).
-- What few servers print (hybrid pools, PD, occupancy, estimates) is in raw_decode_detail: columns that are NULL in
-- almost every row would cost more to write than all others together.
-- accept_len is corrected for version bias (NULL without speculation), accept_len_raw and accept_rate_raw are as printed.
CREATE TABLE IF NOT EXISTS raw_decode_window (
    ingest_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    source_index INTEGER NOT NULL,    -- file of a multi-node run, 0 otherwise
    line_no BIGINT NOT NULL,
    ts TIMESTAMP,
    dp_rank INTEGER,                  -- NULL where no tag was printed
    pp_rank INTEGER,
    tp_rank INTEGER,
    ep_rank INTEGER,
    iteration BIGINT,                 -- [n] of SGLANG_LOG_FORWARD_ITERS
    running_req INTEGER,              -- #running-req
    token BIGINT,                     -- #token (full pool where hybrid)
    token_usage DOUBLE,
    accept_len DOUBLE,                -- tokens per request per round, bonus included
    accept_len_raw DOUBLE,
    accept_rate_raw DOUBLE,
    graph BOOLEAN,                    -- cuda/cpu/npu graph of the window's last round
    gen_tok_s DOUBLE,                 -- gen throughput (token/s) of this rank
    queue_req INTEGER,
    prefills_since INTEGER NOT NULL,  -- prefill lines of this rank since its previous decode line
    step VARCHAR,                     -- workload step from SPECLOG_WORKLOAD, NULL outside
    warmup BOOLEAN,                   -- inside a workload step of kind warmup
    retracted_req INTEGER,
    extra VARCHAR                     -- fields no version known to us prints, as JSON; NULL if none
);

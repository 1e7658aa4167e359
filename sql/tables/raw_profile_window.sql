-- raw_profile_window: one row an EAGLE3_PROFILE line of kind spec or decode. Grain: (ingest_id, source_index, line_no).
-- Times are ms per round: mean, p50, p99; NULL where the line said na or lacked the key.
CREATE TABLE IF NOT EXISTS raw_profile_window (
    ingest_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    source_index INTEGER NOT NULL,
    line_no BIGINT NOT NULL,
    ts TIMESTAMP,
    kind VARCHAR NOT NULL,            -- 'spec' | 'decode'
    rank INTEGER,
    win BIGINT,
    n INTEGER,                        -- rounds in the window
    part INTEGER,                     -- 1: flushed before it was full
    mode VARCHAR,                     -- 'events' | 'sync' | 'host'
    bs DOUBLE,                        -- batch size (mean of the triple an older build printed)
    steps INTEGER,
    topk INTEGER,
    ndraft INTEGER,
    seq DOUBLE,                       -- mean context tokens summed over the batch
    graph VARCHAR,                    -- as printed
    graph_rounds INTEGER,             -- verify/decode rounds that ran as a graph
    cycle_ms DOUBLE,       -- mean
    cycle_p50_ms DOUBLE,
    cycle_p99_ms DOUBLE,
    draft_ms DOUBLE,       -- mean
    draft_p50_ms DOUBLE,
    draft_p99_ms DOUBLE,
    vprep_ms DOUBLE,       -- mean
    vprep_p50_ms DOUBLE,
    vprep_p99_ms DOUBLE,
    verify_ms DOUBLE,      -- mean
    verify_p50_ms DOUBLE,
    verify_p99_ms DOUBLE,
    accept_ms DOUBLE,      -- mean
    accept_p50_ms DOUBLE,
    accept_p99_ms DOUBLE,
    extend_ms DOUBLE,      -- mean
    extend_p50_ms DOUBLE,
    extend_p99_ms DOUBLE,
    gap_ms DOUBLE,         -- mean
    gap_p50_ms DOUBLE,
    gap_p99_ms DOUBLE,
    fwd_ms DOUBLE,         -- mean
    fwd_p50_ms DOUBLE,
    fwd_p99_ms DOUBLE,
    host_ms DOUBLE,        -- mean
    host_p50_ms DOUBLE,
    host_p99_ms DOUBLE,
    reqs BIGINT,                      -- request-rounds
    acc_len DOUBLE,                   -- bonus included
    acc_hist BIGINT[],                -- [i]: request-rounds with i accepted drafts
    t0 DOUBLE,                        -- epoch seconds of the window's start
    dur_s DOUBLE,
    step VARCHAR,
    warmup BOOLEAN,
    extra VARCHAR
);

-- raw_event: one row a line (or multi-line message) that is neither decode, prefill nor profile window.
-- Grain: (ingest_id, source_index, line_no). kind: the declared line kind (retract, oom, traceback, watchdog, shutdown, sigquit,
-- ready, load_weight_end, kv_cache_alloc, graph_end, nccl_version, capped_requests, custom_all_reduce_off, spec_v1, spec_v2,
-- profile_attach, profile_ab, profile_warn, workload_begin, workload_end, speclog_end, req_time_stats, clock_jump (its line is a decode line), ...).
CREATE TABLE IF NOT EXISTS raw_event (
    ingest_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    source_index INTEGER NOT NULL,
    line_no BIGINT NOT NULL,
    line_end BIGINT NOT NULL,         -- last line of a multi-line message
    ts TIMESTAMP,
    rank VARCHAR,                     -- as printed, e.g. 'DP0 TP1'
    kind VARCHAR NOT NULL,
    message VARCHAR,
    fields VARCHAR                    -- typed fields as a JSON object
);

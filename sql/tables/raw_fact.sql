-- raw_fact: one row a fact about a session that is neither server argument nor environment. Grain: (ingest_id, name).
-- Names: gpu.name gpu.count gpu.power_limit_w gpu.clocks_sm_mhz gpu.clocks_max_sm_mhz gpu.other_processes topology driver cuda
-- nccl torch sglang python plugins profiling (mode of EAGLE3_PROFILE or 'off') max_running_requests kv_tokens context_len
-- graph.decode_bs graph.enabled custom_all_reduce overlap_scheduler spec_version weight.target_gb weight.draft_gb
-- cached_prefix_share (of the tokens that the log's prefills list) workload.<key> model.<key of config.json>. value is text, numbers without unit (the unit is in the name).
CREATE TABLE IF NOT EXISTS raw_fact (
    ingest_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    value VARCHAR,
    source VARCHAR NOT NULL,          -- 'manifest' | 'log' | 'server_info' | 'bench'
    line_no BIGINT
);

-- rank_level_of(reading): decode windows without a prefill by batch size and rank, as logged, of the runs of a relation like run_reading:
-- for judging how a run was measured. Grain: (run_id, batch_size, dp_rank, pp_rank). Inputs: reading, raw_decode_window. View rank_level
-- shows the result. n_steady and the columns after it leave out warm-up and windows without a token or a throughput; tok_s is the median,
-- tau the mean printed accept length, context_* are of token / running_req.
CREATE OR REPLACE MACRO rank_level_of(reading) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT run_id, ingest_id FROM query_table(reading)
)
SELECT
    run_id,
    batch_size,
    dp_rank,
    pp_rank,
    count(*) AS n,
    count(*) FILTER (graph) AS graphs,
    count(graph) AS graph_known,
    count(*) FILTER (queue_req > 0) AS queueing,
    count(*) FILTER (retracted_req > 0) AS retracting,
    sum(accept_len) AS accept_sum,
    count(accept_len) AS accept_n,
    min(line_no) AS line_no,
    count(*) FILTER (steady) AS n_steady,
    median(gen_tok_s) FILTER (steady) AS tok_s,
    avg(accept_len) FILTER (steady) AS tau,
    min(token / batch_size) FILTER (steady) AS context_min,
    max(token / batch_size) FILTER (steady) AS context_max,
    min(line_no) FILTER (steady) AS first_line
FROM (
    SELECT
        r.run_id, d.running_req AS batch_size, d.* EXCLUDE (run_id, ingest_id),
        coalesce(d.gen_tok_s > 0 AND coalesce(d.token > 0, true) AND NOT coalesce(d.warmup, false), false) AS steady
    FROM raw_decode_window AS d JOIN chosen AS r ON d.run_id = r.run_id AND d.ingest_id = r.ingest_id
    WHERE d.running_req > 0 AND d.prefills_since = 0
)
GROUP BY run_id, batch_size, dp_rank, pp_rank;

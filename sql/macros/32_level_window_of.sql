-- level_window_of(reading): the decode windows that count once, of the runs of a relation like run_reading: one pipeline rank and one
-- tensor rank a data-parallel rank. Grain: (run_id, source_index, line_no). Inputs: decode_window_of. View level_window: all runs.
-- half_span: a window covers the contexts from context - half_span to context + half_span (it advances rounds * tau tokens a request).
-- eager: the window's last round ran without a CUDA graph; such windows form a level part of their own, never averaged in.
-- mixed: requests of unequal length share the batch; likewise a part of their own.
-- Caveat: every rank of a pipeline prints the same steps (the lowest is kept); each DP rank has its own requests (all are kept).
-- Of several files (--group) all count: pieces of a rotated log follow each other, and nodes print other ranks.
CREATE OR REPLACE MACRO level_window_of(reading) AS TABLE
SELECT
    run_id, run, source_index, line_no, ts, dp_rank, running_req AS batch_size, tau, round_ms, context, gen_tok_s,
    rounds * tau / 2 AS half_span, coalesce(NOT graph, false) AS eager, mixed, queue_req, retracted_req, step, excluded
FROM (
    SELECT *, min(stream) OVER (PARTITION BY run_id, dp_rank) AS lowest
    FROM (
        SELECT
            *,
            CAST(coalesce(pp_rank, 0) AS BIGINT) * 4294967296 + coalesce(tp_rank, 0) AS stream
        FROM decode_window_of(reading)
    )
)
WHERE stream = lowest AND running_req > 0;

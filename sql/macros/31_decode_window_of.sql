-- decode_window_of(reading): one row a decode line with its round time, context and whether it is clean, of the runs of a relation like
-- run_reading. Grain: (run_id, source_index, line_no). Inputs: reading, raw_decode_window, batch_mix_of. View decode_window: all runs.
-- round_ms = running_req * tau / gen_tok_s * 1000 (design: exact, as throughput and accept length
-- share the window); context = middle of the window, token / running_req - rounds * tau / 2.
-- mixed: requests of unequal length share the batch (batch_mix; false for a single request).
-- excluded: why the window is not clean ('warmup', 'first', 'prefill', 'empty', 'batch changed', 'no throughput', 'no accept length',
-- 'other requests'), NULL when it is. 'prefill' of an engine that reports intervals (vLLM): its prompt throughput is not 0.
-- Of a batch that stays the tokens only grow: with less of them it is another one, also where no prefill is printed (a decode server takes
-- requests that were prefilled elsewhere). And they grow by what it generated, running_req * rounds * tau: with more, the batch printed is
-- not all that ran, or not all the time (a longer request came after an idle while). A pipeline's line names one micro-batch of several,
-- or one that is over: there less growth tells as well. Allowed is what rounding makes of it: 2 %, the tokens of a round where they vary,
-- whole pages (all counts are multiples of a page's size).
-- Caveat: vLLM prints no #token: token and context of its windows are NULL, and no line over context goes through them.
CREATE OR REPLACE MACRO decode_window_of(reading) AS TABLE
WITH w AS (
    SELECT
        d.* EXCLUDE (run_id, ingest_id),
        r.run_id,
        r.name AS run,
        r.speculative,
        r.rounds_per_window,
        d.running_req > 1 AND coalesce(m.mixed, true) AS mixed,
        CASE WHEN r.speculative THEN d.accept_len ELSE 1.0 END AS tau,
        lag(d.running_req) OVER line AS previous_req,
        lag(d.token) OVER line AS previous_token,
        token | previous_token AS bits,
        CASE WHEN bits % 16 = 0 THEN least(256, bits & -bits) END AS page,
        row_number() OVER line AS place
    FROM raw_decode_window AS d
    JOIN query_table(reading) AS r ON d.run_id = r.run_id AND d.ingest_id = r.ingest_id
    LEFT JOIN batch_mix_of(reading) AS m
        ON m.run_id = r.run_id AND m.ingest_id = r.ingest_id AND m.source_index = d.source_index AND m.line_no = d.line_no
    WINDOW line AS (PARTITION BY r.run_id, d.source_index, d.dp_rank, d.pp_rank ORDER BY d.line_no)
),
grown AS (
    SELECT
        *,
        running_req * rounds_per_window * tau AS generated,
        token - previous_token - generated AS unlike,
        0.02 * generated + running_req * greatest(CASE WHEN speculative THEN 16 ELSE 1 END, page) AS allowed
    FROM w
)
SELECT
    run_id, run, source_index, line_no, ts, dp_rank, pp_rank, tp_rank, running_req, token, token_usage, tau, accept_len,
    accept_len_raw, accept_rate_raw, graph, gen_tok_s, queue_req, retracted_req, prefills_since, step, warmup,
    rounds_per_window AS rounds,
    running_req * tau / nullif(gen_tok_s, 0) * 1000 AS round_ms,
    token / nullif(running_req, 0) - rounds_per_window * tau / 2 AS context,
    mixed,
    CASE
        WHEN warmup THEN 'warmup'
        WHEN place = 1 THEN 'first'
        WHEN prefills_since > 0 THEN 'prefill'
        WHEN token <= 0 OR coalesce(running_req, 0) <= 0 THEN 'empty'
        WHEN running_req <> previous_req OR token < previous_token THEN 'batch changed'
        WHEN coalesce(gen_tok_s, 0) <= 0 THEN 'no throughput'
        WHEN tau IS NULL THEN 'no accept length'
        WHEN unlike > allowed OR (pp_rank IS NOT NULL AND unlike < -allowed) THEN 'other requests'
    END AS excluded
FROM grown;

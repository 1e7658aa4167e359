-- phase: where a speculative round's time goes. Grain: (run_id, batch_size, phase). Inputs: profile_window.
-- The windows are those of speclog.analysis.phases.usual (a test says so): one batch size, a number of rounds, no warm-up step, phases that add up to
-- their cycle within 2 %, a cycle within 5 * 1.4826 * MAD + 0.1 % of the median. Means over rounds; 'other' is what no mark covers.
-- Divide ms by a baseline's t_base_ms (level_pair) for tokens: all phases together are the break-even accept length.
CREATE OR REPLACE VIEW phase AS
WITH spec AS (
    SELECT
        *,
        TRY_CAST(bs AS INTEGER) AS batch_size,
        coalesce(draft_ms, 0) + coalesce(vprep_ms, 0) + coalesce(verify_ms, 0) + coalesce(accept_ms, 0)
        + coalesce(extend_ms, 0) + coalesce(gap_ms, 0) AS covered_ms,
        median(cycle_ms) OVER (PARTITION BY run_id, bs) AS middle
    FROM profile_window
    WHERE kind = 'spec' AND NOT same_rounds AND cycle_ms > 0 AND n > 0 AND bs = round(bs) AND NOT coalesce(warmup, false)
),
spread AS (
    SELECT *, median(abs(cycle_ms - middle)) OVER (PARTITION BY run_id, bs) AS mad FROM spec
),
usual AS (
    SELECT * FROM spread
    WHERE
        abs(cycle_ms - middle) <= 5 * 1.4826 * mad + 0.001 * middle
        AND abs(covered_ms - cycle_ms) <= 0.02 * cycle_ms
),
long AS (
    UNPIVOT (
        SELECT
            run_id, batch_size, n, cycle_ms, draft_ms AS draft, vprep_ms AS vprep, verify_ms AS verify,
            accept_ms AS accept, extend_ms AS extend, gap_ms AS gap
        FROM usual
    ) ON draft, vprep, verify, accept, extend, gap INTO NAME phase VALUE ms
),
cycle AS (
    SELECT run_id, batch_size, sum(cycle_ms * n) / sum(n) AS cycle_ms, count(*) AS windows
    FROM usual GROUP BY run_id, batch_size
),
part AS (
    SELECT run_id, batch_size, phase, sum(ms * n) / sum(n) AS ms FROM long GROUP BY run_id, batch_size, phase
),
every AS (
    SELECT * FROM part
    UNION ALL BY NAME
    SELECT c.run_id, c.batch_size, 'other' AS phase, c.cycle_ms - sum(p.ms ORDER BY p.phase) AS ms  -- one order: the last digit depends on it
    FROM cycle AS c JOIN part AS p USING (run_id, batch_size)
    GROUP BY c.run_id, c.batch_size, c.cycle_ms
)
SELECT e.run_id, e.batch_size, e.phase, e.ms, 100 * e.ms / c.cycle_ms AS share_pct, c.cycle_ms, c.windows
FROM every AS e JOIN cycle AS c USING (run_id, batch_size);

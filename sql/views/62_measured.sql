-- measured: what a run's own lines say about how it was measured, as factors. Grain: (run_id, name).
-- Inputs: rank_level, event, run, env_var, bench_result. Windows here are those without a prefill and with requests.
CREATE OR REPLACE VIEW measured AS
WITH runs AS MATERIALIZED (
    SELECT run_id, served, server_args_line, speculative, steps, engine FROM run
),
windows AS (
    SELECT
        run_id, batch_size, CAST(sum(n) AS BIGINT) AS n, CAST(sum(graphs) AS BIGINT) AS graphs,
        CAST(sum(graph_known) AS BIGINT) AS graph_known, CAST(sum(queueing) AS BIGINT) AS queueing,
        CAST(sum(retracting) AS BIGINT) AS retracting, CAST(sum(accept_n) AS BIGINT) AS accepts, sum(accept_sum) / nullif(sum(accept_n), 0) AS tau, min(line_no) AS line_no
    FROM (
        -- Of a pipeline one rank: each prints every window.
        SELECT * FROM rank_level
        QUALIFY coalesce(pp_rank, 0) = min(coalesce(pp_rank, 0)) OVER (PARTITION BY run_id, coalesce(dp_rank, 0))
    )
    GROUP BY run_id, batch_size
),
whole AS MATERIALIZED (
    SELECT
        run_id, max(n) AS most, max(accepts) AS most_accepts, sum(n) AS n, sum(graphs) AS graphs, sum(graph_known) AS graph_known,
        sum(queueing) AS queueing, sum(retracting) AS retracting, max(tau) AS tau, min(line_no) AS line_no
    FROM windows GROUP BY run_id
),
retracted AS (
    SELECT run_id, min(line_no) AS line_no FROM event WHERE kind = 'retract' GROUP BY run_id
),
simulated AS (
    SELECT run_id, min(line_no) AS line_no
    FROM env_var WHERE name IN ('SGLANG_SIMULATE_ACC_LEN', 'SIMULATE_ACC_LEN') AND TRY_CAST(value AS DOUBLE) > 0
    GROUP BY run_id
),
doubted AS (
    SELECT run_id, sum(len(doubts)) AS n, min(line_no) AS line_no FROM bench_result WHERE len(doubts) > 0 GROUP BY run_id
)
SELECT run_id, 'measure.served' AS name, CAST(served AS VARCHAR) AS value, server_args_line AS line_no FROM runs
UNION ALL BY NAME
-- None at all counts too (each window may hold a prefill); of a speculative server, those that tell an accept length.
SELECT run_id, 'measure.windows' AS name, CASE WHEN most >= 5 THEN 'enough' ELSE most || ' at the fullest level' END AS value, line_no
FROM (
    SELECT r.run_id, coalesce(CASE WHEN r.speculative AND r.engine = 'sglang' THEN w.most_accepts ELSE w.most END, 0) AS most, w.line_no
    FROM runs AS r LEFT JOIN whole AS w USING (run_id)
    WHERE r.served
)
UNION ALL BY NAME
SELECT
    run_id, 'measure.graph' AS name,
    CASE WHEN graphs >= 0.95 * graph_known THEN 'graphs' WHEN graphs <= 0.05 * graph_known THEN 'none' ELSE 'some' END AS value, line_no
FROM whole WHERE graph_known > 0
UNION ALL BY NAME
SELECT run_id, 'measure.queueing' AS name, CASE WHEN queueing > 0.2 * n THEN 'yes' ELSE 'no' END AS value, line_no FROM whole
UNION ALL BY NAME
SELECT
    w.run_id, 'measure.retractions' AS name,
    CASE WHEN w.retracting > 0 OR r.run_id IS NOT NULL THEN 'some' ELSE 'none' END AS value, coalesce(r.line_no, w.line_no) AS line_no
FROM whole AS w LEFT JOIN retracted AS r USING (run_id)
UNION ALL BY NAME
SELECT
    r.run_id, 'measure.accept_length' AS name,
    CASE
        WHEN s.run_id IS NOT NULL THEN 'simulated'
        WHEN w.tau >= r.steps + 0.98 THEN 'at its ceiling'
        ELSE 'measured'
    END AS value,
    coalesce(s.line_no, w.line_no) AS line_no
FROM runs AS r JOIN whole AS w USING (run_id) LEFT JOIN simulated AS s USING (run_id)
WHERE r.speculative
UNION ALL BY NAME
SELECT run_id, 'measure.client' AS name, n || CASE n WHEN 1 THEN ' doubt' ELSE ' doubts' END AS value, line_no FROM doubted;

-- impossible_pair: speculative and plain runs whose numbers cannot both be right under one configuration: at some batch size the speculative
-- run is faster by more than its accept length, so its round (draft, verify of several tokens, re-extend) would be shorter than a plain step.
-- Grain: (candidate, baseline), the worst batch size. Inputs: rank_level. Five per cent are granted to noise; levels with fewer than
-- four windows, or whose contexts do not overlap, are left out.
CREATE OR REPLACE VIEW impossible_pair AS
WITH rough AS MATERIALIZED (
    SELECT run_id, batch_size, tok_s, tau, context_min, context_max, first_line FROM rank_level WHERE n_steady >= 4
)
SELECT
    c.run_id AS candidate, b.run_id AS baseline,
    max_by(c.batch_size, c.tok_s / b.tok_s / c.tau) AS batch_size,
    max_by(c.tok_s / b.tok_s, c.tok_s / b.tok_s / c.tau) AS naive_speedup,
    max_by(c.tau, c.tok_s / b.tok_s / c.tau) AS tau,
    max_by(c.first_line, c.tok_s / b.tok_s / c.tau) AS candidate_line,
    max_by(b.first_line, c.tok_s / b.tok_s / c.tau) AS baseline_line
FROM rough AS c JOIN rough AS b
    ON c.batch_size = b.batch_size AND c.tau IS NOT NULL AND b.tau IS NULL
    AND c.context_min <= b.context_max AND b.context_min <= c.context_max
    AND c.tok_s > 1.05 * c.tau * b.tok_s
GROUP BY c.run_id, b.run_id;

-- impossible_pair: speculative and plain runs whose numbers cannot both be right under one configuration: at some batch size the speculative
-- run is faster by more than its accept length, so its round (draft, verify of several tokens, re-extend) would be shorter than a plain step.
-- Grain: (candidate, baseline), the worst batch size. Inputs: rank_level, level_line. Five per cent are granted to noise; levels with fewer
-- than four windows, or whose contexts do not overlap, are left out.
-- naive_speedup: by round times read off both lines in the middle of the common contexts, as in level_pair. The medians, which only tell
-- where to look, may differ by more: a step at 100,000 tokens takes longer than a round at 500.
CREATE OR REPLACE VIEW impossible_pair AS
WITH rough AS MATERIALIZED (
    SELECT run_id, batch_size, tok_s, tau, context_min, context_max FROM rank_level WHERE n_steady >= 4
),
suspect AS MATERIALIZED (
    SELECT DISTINCT c.run_id AS candidate, b.run_id AS baseline, c.batch_size
    FROM rough AS c JOIN rough AS b
        ON c.batch_size = b.batch_size AND c.tau IS NOT NULL AND b.tau IS NULL
        AND c.context_min <= b.context_max AND b.context_min <= c.context_max
        AND c.tok_s > 1.05 * c.tau * b.tok_s
),
line AS MATERIALIZED (
    SELECT * FROM level_line WHERE n >= 2 AND run_id IN (SELECT candidate FROM suspect UNION SELECT baseline FROM suspect)
),
met AS (
    SELECT
        s.*, c.tau, c.first_line AS candidate_line, b.first_line AS baseline_line,
        c.fit_a_ms + c.fit_c_ms_per_token * (greatest(c.context_min, b.context_min) + least(c.context_max, b.context_max)) / 2 AS t_spec_ms,
        b.fit_a_ms + b.fit_c_ms_per_token * (greatest(c.context_min, b.context_min) + least(c.context_max, b.context_max)) / 2 AS t_base_ms
    FROM suspect AS s
    JOIN line AS c ON c.run_id = s.candidate AND c.batch_size = s.batch_size
    JOIN line AS b
        ON b.run_id = s.baseline AND b.batch_size = s.batch_size
        AND greatest(c.context_min, b.context_min) <= least(c.context_max, b.context_max)
    QUALIFY row_number() OVER (
        PARTITION BY s.candidate, s.baseline, s.batch_size
        ORDER BY
            c.eager <> b.eager OR c.mixed <> b.mixed, least(c.n, b.n) DESC,
            least(c.context_max, b.context_max) - greatest(c.context_min, b.context_min) DESC, c.eager, b.eager, c.band, b.band
    ) = 1
)
SELECT
    candidate, baseline,
    max_by(batch_size, t_base_ms / t_spec_ms) AS batch_size,
    max_by(tau * t_base_ms / t_spec_ms, t_base_ms / t_spec_ms) AS naive_speedup,
    max_by(tau, t_base_ms / t_spec_ms) AS tau,
    max_by(candidate_line, t_base_ms / t_spec_ms) AS candidate_line,
    max_by(baseline_line, t_base_ms / t_spec_ms) AS baseline_line
FROM met
WHERE t_spec_ms > 0 AND t_base_ms > 1.05 * t_spec_ms
GROUP BY candidate, baseline;

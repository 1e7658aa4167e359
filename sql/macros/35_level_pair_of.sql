-- level_pair_of(pairs): break-even arithmetic of the pairs in a relation with columns candidate and baseline (run_ids), at each batch size
-- of the candidate. Grain: (candidate, baseline, batch_size). Inputs: pairs, level_count, level_line, run. Whoever asks about runs of two
-- engines must say so beside every number: they do not define throughput and accept length alike.
-- Both round times are read off their lines at the same context: the middle of the contexts both arms cover, in the part (band of
-- context, with or without graphs, batches of equal or of unequal requests) where the smaller arm has most windows; parts
-- of unlike kinds meet only where nothing else is in common. Nothing is extrapolated: no common context, no number.
-- tau_star = baseline_tau * t_spec_ms / t_base_ms, the accept length at which both are equally fast (baseline_tau is 1 without speculation).
-- naive_speedup: ratio of the medians of tok_s of a DP rank, whatever the contexts: two ranks at a batch size are not held against one. refused: why there is no number, in words, else NULL.
CREATE OR REPLACE MACRO level_pair_of(pairs) AS TABLE
WITH line AS MATERIALIZED (
    SELECT * FROM level_line
),
lev AS MATERIALIZED (
    SELECT n.*, m.context_min, m.context_max
    FROM level_count AS n
    LEFT JOIN (
        SELECT run_id, batch_size, context_min, context_max FROM line
        QUALIFY row_number() OVER (PARTITION BY run_id, batch_size ORDER BY n DESC, eager, band) = 1
    ) AS m USING (run_id, batch_size)
),
named AS MATERIALIZED (
    SELECT run_id, name, parse_filename(source) AS file FROM run
),
part AS (
    SELECT
        c.run_id AS candidate,
        b.run_id AS baseline,
        c.batch_size,
        c.n AS n_candidate,
        b.n AS n_baseline,
        c.tau,
        b.tau AS baseline_tau,
        greatest(c.context_min, b.context_min) AS context_from,
        least(c.context_max, b.context_max) AS context_to,
        (greatest(c.context_min, b.context_min) + least(c.context_max, b.context_max)) / 2 AS context,
        c.fit_a_ms + c.fit_c_ms_per_token
            * (greatest(c.context_min, b.context_min) + least(c.context_max, b.context_max)) / 2 AS t_spec_ms,
        b.fit_a_ms + b.fit_c_ms_per_token
            * (greatest(c.context_min, b.context_min) + least(c.context_max, b.context_max)) / 2 AS t_base_ms,
        c.first_line AS candidate_first,
        c.last_line AS candidate_last,
        b.first_line AS baseline_first,
        b.last_line AS baseline_last
    FROM query_table(pairs) AS w
    JOIN line AS c ON c.run_id = w.candidate
    JOIN line AS b
        ON
            b.run_id = w.baseline
            AND c.batch_size = b.batch_size
            AND greatest(c.context_min, b.context_min) <= least(c.context_max, b.context_max)
    QUALIFY row_number() OVER (
        PARTITION BY c.run_id, b.run_id, c.batch_size
        ORDER BY c.eager <> b.eager OR c.mixed <> b.mixed OR least(c.n, b.n) < 2, least(c.n, b.n) DESC, context_to - context_from DESC, c.eager, b.eager, c.band, b.band
    ) = 1
),
measured AS (
    SELECT run_id, string_agg(CAST(batch_size AS VARCHAR), ', ' ORDER BY batch_size) AS sizes
    FROM lev WHERE n_clean > 0 GROUP BY run_id
),
pair AS (
    SELECT
        c.run_id AS candidate,
        rc.name AS candidate_name,
        b.run_id AS baseline,
        b.name AS baseline_name,
        c.batch_size,
        c.n_clean AS candidate_clean,
        c.tau AS candidate_tau,
        c.first_line AS level_first,
        c.last_line AS level_last,
        lb.first_line AS baseline_level_first,
        lb.last_line AS baseline_level_last,
        lb.n_clean AS baseline_clean,
        (c.tok_s / c.dp_ranks) / (lb.tok_s / lb.dp_ranks) AS naive_speedup,
        c.graph_off AS candidate_graph_off,
        lb.graph_off AS baseline_graph_off,
        c.context_min AS candidate_from,
        c.context_max AS candidate_to,
        lb.context_min AS baseline_from,
        lb.context_max AS baseline_to,
        m.sizes AS baseline_sizes,
        rc.file AS candidate_file,
        b.file AS baseline_file
    FROM query_table(pairs) AS w
    JOIN lev AS c ON c.run_id = w.candidate
    JOIN named AS rc ON rc.run_id = w.candidate
    JOIN named AS b ON b.run_id = w.baseline
    LEFT JOIN lev AS lb ON lb.run_id = b.run_id AND lb.batch_size = c.batch_size
    LEFT JOIN measured AS m ON m.run_id = b.run_id
    WHERE c.n_clean > 0
),
judged AS (
    SELECT
        p.*,
        q.* EXCLUDE (candidate, baseline, batch_size),
        CASE
            WHEN p.baseline_sizes IS NULL THEN 'the baseline has no clean window at all'
            WHEN coalesce(p.baseline_clean, 0) = 0
                THEN format(
                    'the baseline has no clean window at batch size {} (it has {})', p.batch_size, p.baseline_sizes
                )
            WHEN p.candidate_clean < 2
                THEN format('one clean window of the candidate at batch size {}: two are needed', p.batch_size)
            WHEN p.baseline_clean < 2
                THEN format('one clean window of the baseline at batch size {}: two are needed', p.batch_size)
            WHEN p.candidate_from IS NULL
                THEN 'the log of the candidate prints no context lengths (#token): round times are compared at equal context only'
            WHEN p.baseline_from IS NULL
                THEN 'the log of the baseline prints no context lengths (#token): round times are compared at equal context only'
            WHEN q.context IS NULL
                THEN format(
                    'no common context: candidate {:.0f} to {:.0f}, baseline {:.0f} to {:.0f} tokens',
                    p.candidate_from, p.candidate_to, p.baseline_from, p.baseline_to
                )
            WHEN least(q.n_candidate, q.n_baseline) < 2
                THEN format('one clean window at the common context {:.0f} of one side: two are needed', q.context)
            WHEN least(q.t_spec_ms, q.t_base_ms) <= 0 OR NOT isfinite(q.t_spec_ms / q.t_base_ms)
                THEN 'the fitted round time is not positive'
        END AS refused
    FROM pair AS p LEFT JOIN part AS q USING (candidate, baseline, batch_size)
),
shown AS (
    SELECT
        *,
        CASE WHEN refused IS NULL THEN t_spec_ms END AS t_c,
        CASE WHEN refused IS NULL THEN t_base_ms / baseline_tau END AS t_b
    FROM judged
)
SELECT
    candidate,
    candidate_name,
    baseline,
    baseline_name,
    batch_size,
    CASE WHEN refused IS NULL THEN context_from END AS context_from,
    CASE WHEN refused IS NULL THEN context_to END AS context_to,
    CASE WHEN refused IS NULL THEN context END AS context,
    coalesce(n_candidate, candidate_clean) AS n_candidate,
    coalesce(n_baseline, baseline_clean, 0) AS n_baseline,
    coalesce(tau, candidate_tau) AS tau,
    baseline_tau,
    t_c AS t_spec_ms,
    CASE WHEN refused IS NULL THEN t_base_ms END AS t_base_ms,
    t_c / t_b AS tau_star,
    tau - t_c / t_b AS margin_tokens,
    tau * t_b - t_c AS margin_ms,
    100 * (tau * t_b / t_c - 1) AS margin_pct,
    tau * t_b / t_c AS speedup,
    naive_speedup,
    candidate_graph_off,
    baseline_graph_off,
    refused,
    format(
        '{}:{}-{}', candidate_file, coalesce(candidate_first, level_first), coalesce(candidate_last, level_last)
    ) AS candidate_lines,
    format(
        '{}:{}-{}', baseline_file, coalesce(baseline_first, baseline_level_first),
        coalesce(baseline_last, baseline_level_last)
    ) AS baseline_lines
FROM shown;

-- comparison_of(pairs): the verdicts on the pairs of a relation with columns candidate (a speculative run_id) and baseline (a plain one of
-- the same engine); other pairs have no row. Grain: (candidate, baseline). Inputs: pairs, comparison_group, arm, impossible_pair.
-- View comparison is this for all pairs, and says what the columns are.
CREATE OR REPLACE MACRO comparison_of(pairs) AS TABLE
WITH alike AS MATERIALIZED (
    SELECT row_number() OVER () AS place, * FROM comparison_group
),
mine AS (
    SELECT place, unnest(candidates) AS run_id FROM alike
),
theirs AS (
    SELECT place, unnest(baselines) AS run_id FROM alike
)
SELECT
    p.candidate,
    c.name AS candidate_name,
    p.baseline,
    b.name AS baseline_name,
    CASE
        WHEN a.n_confounders > 0 OR i.candidate IS NOT NULL THEN 'unfair'
        WHEN a.n_unknown > 0 THEN 'unproven'
        ELSE 'fair'
    END AS verdict,
    CAST(a.n_confounders + CAST(i.candidate IS NOT NULL AS INTEGER) AS INTEGER) AS n_confounders,
    a.n_unknown,
    a.n_entailed,
    CASE WHEN i.candidate IS NULL THEN [] ELSE [impossible_reason(i.naive_speedup, i.tau, i.batch_size)] END || a.reasons AS reasons,
    a.caveats,
    a.contract_hash,
    list_contains(a.vouching, p.candidate) OR list_contains(a.vouching, p.baseline) AS vouched
FROM query_table(pairs) AS p
JOIN mine AS m ON m.run_id = p.candidate
JOIN theirs AS t ON t.run_id = p.baseline AND t.place = m.place
JOIN alike AS a ON a.place = m.place
JOIN arm AS c ON c.run_id = p.candidate
JOIN arm AS b ON b.run_id = p.baseline
LEFT JOIN impossible_pair AS i ON i.candidate = p.candidate AND i.baseline = p.baseline;

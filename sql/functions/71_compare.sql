-- compare(candidate, baseline): the verdict on any two runs (run_ids), also two plain or two speculative ones; one row.
-- The same judgement as view comparison, from factor_pair; no contradiction of numbers is looked for between two runs of a kind.
CREATE OR REPLACE MACRO compare(candidate_id, baseline_id) AS TABLE
WITH f AS MATERIALIZED (
    SELECT * FROM factor_pair WHERE candidate = candidate_id AND baseline = baseline_id
),
grouped AS (
    SELECT does, class, list(name ORDER BY name) AS names FROM f WHERE does IS NOT NULL GROUP BY does, class
),
impossible AS MATERIALIZED (
    SELECT impossible_reason(naive_speedup, tau, batch_size) AS reason
    FROM impossible_pair WHERE candidate = candidate_id AND baseline = baseline_id
),
reason AS (
    SELECT
        list(factor_reason(does, class, names) ORDER BY reason_place(does, class)) FILTER (does <> 'caveat') AS reasons,
        list(factor_reason(does, class, names) ORDER BY class) FILTER (does = 'caveat') AS caveats
    FROM grouped
),
counted AS (
    SELECT
        count(*) FILTER (does = 'unfair') AS n_confounders, count(*) FILTER (does = 'unproven') AS n_unknown,
        count(*) FILTER (class = 'entailed' AND differs) AS n_entailed,
        coalesce(
            sum(CAST(md5_number_lower(name || '=' || least(candidate_norm, baseline_norm)) AS HUGEINT))
                FILTER (NOT differs AND listed NOT IN ('noise', 'treatment')), 0
        ) AS held,
        coalesce(bool_or(vouched), false) AS vouched
    FROM f
)
SELECT
    candidate_id AS candidate, baseline_id AS baseline,
    CASE
        WHEN n.n_confounders > 0 OR (SELECT count(*) FROM impossible) > 0 THEN 'unfair'
        WHEN n.n_unknown > 0 THEN 'unproven'
        ELSE 'fair'
    END AS verdict,
    CAST(n.n_confounders + (SELECT count(*) FROM impossible) AS INTEGER) AS n_confounders,
    CAST(n.n_unknown AS INTEGER) AS n_unknown, CAST(n.n_entailed AS INTEGER) AS n_entailed,
    coalesce((SELECT list(reason) FROM impossible), []) || coalesce(r.reasons, []) AS reasons,
    coalesce(r.caveats, []) AS caveats,
    substr(md5(CAST(n.held AS VARCHAR)), 1, 12) AS contract_hash,
    n.vouched
FROM counted AS n, reason AS r;

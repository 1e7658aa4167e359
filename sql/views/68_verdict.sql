-- verdict: is the comparison of two runs fair? Grain: (candidate, baseline), every ordered pair. Inputs: configuration, factor_side.
-- Worked out once a pair of configurations, over the factors that are not equal and known everywhere; factor_pair has the rows.
-- reasons: one text a class, weightiest first. contract: the sum of the hashes of what was held equal (see comparison).
CREATE OR REPLACE VIEW verdict AS
WITH conf AS MATERIALIZED (
    SELECT * FROM configuration
),
represented AS (
    SELECT configuration, min(run_id) AS run_id, any_value(speculative) AS speculative, any_value(version) AS version
    FROM conf GROUP BY configuration
),
side AS MATERIALIZED (
    SELECT r.configuration, s.name, s.norm, s.class, s.how, s.tolerance, s.required
    FROM factor_side AS s JOIN represented AS r USING (run_id)
    WHERE s.class NOT IN ('noise', 'treatment')
),
spread AS (
    SELECT name, count(norm) = (SELECT count(*) FROM represented) AND count(DISTINCT norm) = 1 AS constant
    FROM side GROUP BY name
),
held AS (
    SELECT coalesce(sum(CAST(md5_number_lower(s.name || '=' || s.norm) AS HUGEINT)), 0) AS common
    FROM (SELECT name, any_value(norm) AS norm FROM side GROUP BY name) AS s JOIN spread AS p USING (name)
    WHERE p.constant
),
telling AS MATERIALIZED (
    SELECT s.* FROM side AS s JOIN spread AS p USING (name) WHERE NOT p.constant
),
pair AS (
    SELECT
        c.configuration AS cc, b.configuration AS bc,
        c.speculative AS c_spec, b.speculative AS b_spec, c.version AS c_version, b.version AS b_version
    FROM represented AS c CROSS JOIN represented AS b
),
sided AS (
    SELECT p.*, true AS mine, t.* EXCLUDE (configuration) FROM pair AS p JOIN telling AS t ON t.configuration = p.cc
    UNION ALL BY NAME
    SELECT p.*, false AS mine, t.* EXCLUDE (configuration) FROM pair AS p JOIN telling AS t ON t.configuration = p.bc
),
paired AS (
    SELECT
        cc, bc, name, any_value(c_spec) AS c_spec, any_value(b_spec) AS b_spec,
        any_value(c_version) AS c_version, any_value(b_version) AS b_version,
        any_value(class) AS listed, any_value(how) AS how, any_value(tolerance) AS tolerance, bool_or(required) AS required,
        max(norm) FILTER (mine) AS a, max(norm) FILTER (NOT mine) AS b
    FROM sided GROUP BY cc, bc, name
),
differing AS (
    SELECT *, factor_differs(how, tolerance, a, b) AS differs FROM paired
),
judged AS (
    SELECT
        cc, bc, name, differs, required, a,
        factor_class(
            listed, differs, differs AND entailed_by_treatment(name, a, c_spec, c_version, b, b_spec, b_version)
        ) AS class
    FROM differing
),
told AS (
    SELECT cc, bc, class, factor_matters(class, required, differs) AS does, differs, name, a FROM judged
),
grouped AS (
    SELECT
        cc, bc, does, class, count(*) AS n,
        string_agg(regexp_replace(name, '^(env|arg|fact|measure)\.', ''), ', ' ORDER BY name) AS names
    FROM told WHERE does IS NOT NULL GROUP BY cc, bc, does, class
),
summed AS (
    SELECT
        cc, bc,
        count(*) FILTER (does = 'unfair') AS n_confounders,
        count(*) FILTER (does = 'unproven') AS n_unknown,
        count(*) FILTER (class = 'entailed' AND differs) AS n_entailed,
        coalesce(sum(CAST(md5_number_lower(name || '=' || a) AS HUGEINT)) FILTER (NOT differs), 0) AS held
    FROM told GROUP BY cc, bc
),
reason AS (
    SELECT
        cc, bc,
        list(
            CASE
                WHEN does = 'unfair' THEN n || ' ' || class || CASE n WHEN 1 THEN ' factor differs: ' ELSE ' factors differ: ' END || names
                WHEN class = 'unclassified' THEN n || ' unclassified ' || CASE n WHEN 1 THEN 'factor differs: ' ELSE 'factors differ: ' END || names
                ELSE n || ' ' || class || CASE n WHEN 1 THEN ' factor is' ELSE ' factors are' END || ' not recorded: ' || names
            END
            ORDER BY does, list_position(['environment', 'software', 'server', 'workload', 'measurement', 'unclassified'], class)
        ) AS reasons
    FROM grouped GROUP BY cc, bc
)
SELECT
    c.run_id AS candidate,
    b.run_id AS baseline,
    CASE
        WHEN coalesce(s.n_confounders, 0) > 0 THEN 'unfair'
        WHEN coalesce(s.n_unknown, 0) > 0 THEN 'unproven'
        ELSE 'fair'
    END AS verdict,
    coalesce(s.n_confounders, 0) AS n_confounders,
    coalesce(s.n_unknown, 0) AS n_unknown,
    coalesce(s.n_entailed, 0) AS n_entailed,
    coalesce(r.reasons, []) AS reasons,
    substr(md5(CAST(coalesce(s.held, 0) + h.common AS VARCHAR)), 1, 12) AS contract_hash
FROM conf AS c
JOIN conf AS b ON c.run_id <> b.run_id
CROSS JOIN held AS h
LEFT JOIN summed AS s ON s.cc = c.configuration AND s.bc = b.configuration
LEFT JOIN reason AS r ON r.cc = c.configuration AND r.bc = b.configuration;

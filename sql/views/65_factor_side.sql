-- factor_side: every factor of every run, with a row (norm NULL) for each required one that is unknown. Grain: (run_id, name).
-- Inputs: factor_norm, factor, run.
CREATE OR REPLACE VIEW factor_side AS
WITH known AS MATERIALIZED (
    SELECT * FROM factor_norm
),
required AS (
    SELECT
        pattern AS name, any_value(class) AS class, any_value(how) AS how, any_value(tolerance) AS tolerance,
        any_value(better) AS better, any_value(mend) AS mend
    FROM factor
    WHERE required AND (NOT contains(pattern, '*') OR (starts_with(pattern, 'env.') AND ends_with(pattern, '*')))
    GROUP BY pattern
)
SELECT run_id, name, value, source, line_no, class, how, tolerance, required, better, mend, norm FROM known
UNION ALL BY NAME
SELECT
    r.run_id, q.name, NULL::VARCHAR AS value, NULL::VARCHAR AS source, NULL::BIGINT AS line_no,
    q.class, q.how, q.tolerance, true AS required, q.better, q.mend, NULL::VARCHAR AS norm
FROM run AS r CROSS JOIN required AS q
WHERE NOT EXISTS (SELECT 1 FROM known AS k WHERE k.run_id = r.run_id AND k.name = q.name);

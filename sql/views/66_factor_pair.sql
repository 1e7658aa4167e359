-- factor_pair: every factor of any two runs, judged. Grain: (candidate, baseline, name). Inputs: factor_side, configuration.
-- Filter on candidate and baseline: unfiltered it is every ordered pair of runs.
-- class: what this difference is in this pair ('entailed' where SGLang makes it because of the treatment). verdict: what the row does
-- to the comparison ('unfair', 'unproven', NULL). differs NULL: a side is unknown, which is never equal.
CREATE OR REPLACE VIEW factor_pair AS
WITH arm AS (
    SELECT run_id, speculative, version FROM configuration
),
pair AS (
    SELECT
        c.run_id AS candidate, b.run_id AS baseline,
        c.speculative AS c_spec, b.speculative AS b_spec, c.version AS c_version, b.version AS b_version
    FROM arm AS c JOIN arm AS b ON c.run_id <> b.run_id
),
sided AS (
    SELECT p.*, true AS mine, s.* EXCLUDE (run_id) FROM pair AS p JOIN factor_side AS s ON s.run_id = p.candidate
    UNION ALL BY NAME
    SELECT p.*, false AS mine, s.* EXCLUDE (run_id) FROM pair AS p JOIN factor_side AS s ON s.run_id = p.baseline
),
paired AS (
    SELECT
        candidate, baseline, name,
        any_value(c_spec) AS c_spec, any_value(b_spec) AS b_spec,
        any_value(c_version) AS c_version, any_value(b_version) AS b_version,
        any_value(class) AS listed, any_value(how) AS how, any_value(tolerance) AS tolerance,
        bool_or(required) AS required, any_value(better) AS better, any_value(mend) AS mend,
        max(norm) FILTER (mine) AS c_norm, max(norm) FILTER (NOT mine) AS b_norm,
        max(value) FILTER (mine) AS candidate_value, max(value) FILTER (NOT mine) AS baseline_value,
        max(source) FILTER (mine) AS candidate_source, max(source) FILTER (NOT mine) AS baseline_source,
        max(line_no) FILTER (mine) AS candidate_line, max(line_no) FILTER (NOT mine) AS baseline_line
    FROM sided GROUP BY candidate, baseline, name
),
judged AS (
    SELECT
        *,
        factor_differs(how, tolerance, c_norm, b_norm) AS differs,
        factor_class(
            listed, factor_differs(how, tolerance, c_norm, b_norm),
            entailed_by_treatment(name, c_norm, c_spec, c_version, b_norm, b_spec, b_version)
        ) AS class
    FROM paired
)
SELECT
    candidate, baseline, name, class, candidate_value, baseline_value,
    candidate_value IS NOT NULL AS candidate_known, baseline_value IS NOT NULL AS baseline_known,
    differs,
    factor_matters(class, required, differs) AS verdict,
    factor_matters(class, required, differs) IS NOT NULL AS matters,
    CASE WHEN differs THEN factor_favours(better, candidate_value, baseline_value) END AS favours,
    CASE WHEN differs AND class NOT IN ('treatment', 'entailed', 'noise')
        THEN factor_mend(mend, name, baseline_value) END AS mend,
    required, candidate_source, baseline_source, candidate_line, baseline_line,
    coalesce(candidate_source = 'annotation', false) OR coalesce(baseline_source = 'annotation', false) AS vouched
FROM judged;

-- factor_pair_of(pairs): every factor of the pairs in a relation with columns candidate and baseline (run_ids), judged.
-- Grain: (candidate, baseline, name). Inputs: pairs, factor_value, factor_entry, arm, entailed_rule. View factor_pair says what the columns are.
CREATE OR REPLACE MACRO factor_pair_of(pairs) AS TABLE
WITH side AS MATERIALIZED (
    SELECT run_id, speculative, version, tree FROM arm
),
known AS MATERIALIZED (
    SELECT run_id, name, value, source, line_no FROM factor_value
),
entry AS MATERIALIZED (
    SELECT * FROM factor_entry
),
rule AS MATERIALIZED (
    SELECT * FROM entailed_rule
),
pair AS (
    SELECT
        c.run_id AS candidate, b.run_id AS baseline, c.speculative AS c_spec, b.speculative AS b_spec,
        CASE WHEN c.speculative THEN c.version ELSE b.version END AS version,
        CASE WHEN c.speculative THEN c.tree ELSE b.tree END AS tree
    FROM query_table(pairs) AS w JOIN side AS c ON c.run_id = w.candidate JOIN side AS b ON b.run_id = w.baseline
),
sided AS (
    SELECT p.*, true AS mine, v.name, v.value, v.source, v.line_no FROM pair AS p JOIN known AS v ON v.run_id = p.candidate
    UNION ALL BY NAME
    SELECT p.*, false AS mine, v.name, v.value, v.source, v.line_no FROM pair AS p JOIN known AS v ON v.run_id = p.baseline
    UNION ALL BY NAME
    SELECT p.*, NULL AS mine, e.name FROM pair AS p CROSS JOIN entry AS e WHERE e.required
),
paired AS (
    SELECT
        candidate, baseline, name, any_value(c_spec) AS c_spec, any_value(b_spec) AS b_spec, any_value(version) AS version,
        any_value(tree) AS tree,
        max(value) FILTER (mine) AS candidate_value, max(value) FILTER (NOT mine) AS baseline_value,
        max(source) FILTER (mine) AS candidate_source, max(source) FILTER (NOT mine) AS baseline_source,
        max(line_no) FILTER (mine) AS candidate_line, max(line_no) FILTER (NOT mine) AS baseline_line
    FROM sided GROUP BY candidate, baseline, name
),
normal AS (
    SELECT
        p.*, e.* EXCLUDE (name),
        factor_norm(e.how, e.pick, p.candidate_value) AS c_norm, factor_norm(e.how, e.pick, p.baseline_value) AS b_norm
    FROM paired AS p JOIN entry AS e USING (name)
),
differing AS (
    SELECT
        * REPLACE (factor_required(required, once_known, c_norm, b_norm) AS required),
        factor_differs(how, tolerance, c_norm, b_norm) AS differs,
        coalesce(regexp_full_match(c_norm, doubtful), false) OR coalesce(regexp_full_match(b_norm, doubtful), false) AS bad
    FROM normal
),
entailed AS (
    SELECT d.candidate, d.baseline, d.name, min(r.place) AS place
    FROM differing AS d JOIN rule AS r
        ON r.name = d.name AND d.differs AND d.c_spec <> d.b_spec
        AND entailed_by_rule(
            CASE WHEN d.c_spec THEN d.c_norm ELSE d.b_norm END, CASE WHEN d.c_spec THEN d.b_norm ELSE d.c_norm END, d.version, d.tree,
            r.spec_value, r.plain_value, r.direction, r.within, r.tree, r.since, r.before
        )
    GROUP BY d.candidate, d.baseline, d.name
),
judged AS (
    SELECT d.* EXCLUDE (place) REPLACE (factor_class(d.class, d.differs, e.place IS NOT NULL) AS class), d.class AS listed, e.place AS rule_place
    FROM differing AS d LEFT JOIN entailed AS e USING (candidate, baseline, name)
)
SELECT
    candidate, baseline, name, class, candidate_value, baseline_value,
    candidate_value IS NOT NULL AS candidate_known, baseline_value IS NOT NULL AS baseline_known,
    differs,
    coalesce(factor_does(class, effect, otherwise, required, differs, bad) IN ('unfair', 'unproven'), false) AS matters,
    factor_does(class, effect, otherwise, required, differs, bad) AS does,
    CASE WHEN differs THEN factor_favours(better, c_norm, b_norm) END AS favours,
    CASE
        WHEN (differs OR (bad AND otherwise = 'unproven')) AND class NOT IN ('treatment', 'entailed', 'noise')
            THEN factor_mend(mend, name, baseline_value)
    END AS mend,
    coalesce(w.about, j.about) AS about, w.cost,
    listed, required, c_norm AS candidate_norm, b_norm AS baseline_norm,
    candidate_source, baseline_source, candidate_line, baseline_line,
    coalesce(candidate_source = 'annotation', false) OR coalesce(baseline_source = 'annotation', false) AS vouched
FROM judged AS j LEFT JOIN (SELECT DISTINCT place AS rule_place, cost, about FROM rule) AS w USING (rule_place);

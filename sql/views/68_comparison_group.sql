-- comparison_group: the verdicts of view comparison, by groups of pairs that are alike in all that decides. Grain: (candidates, baselines),
-- two lists of run_ids; each candidate of a row is judged against each baseline of it, and no pair is in two rows.
-- vouching: those of them of which some factor is known by an annotation only.
-- Inputs: arm, factor_value, factor_entry, entailed_rule. Not in it: impossible_pair, which is looked up by pair.
-- Method: factors with one value all over the store decide nothing; runs alike in the others form a configuration; each pair of values
-- (sides) is judged once, each pair of configurations takes its verdict from those. What says the same of every pair is said once
-- (constant); what a pair holds equal is what its candidate has (own), corrected where the baseline is not the same (more): so only
-- sides that differ or decide are joined, for a store whose thousand runs all differ has a quarter of a million pairs.
-- comparison_factor judges the same pairs row by row.
CREATE OR REPLACE VIEW comparison_group AS
WITH runs AS MATERIALIZED (
    SELECT * FROM arm WHERE speculative IS NOT NULL
),
entry AS MATERIALIZED (
    SELECT * FROM factor_entry
),
value AS MATERIALIZED (
    SELECT v.run_id, v.name, v.value, v.source FROM factor_value AS v JOIN runs USING (run_id)
),
vouching AS (
    SELECT DISTINCT run_id FROM value WHERE source = 'annotation'
),
spread AS MATERIALIZED (
    SELECT name, min(value) AS low, max(value) AS high, count(*) AS n FROM value GROUP BY name
),
telling AS MATERIALIZED (
    SELECT e.*
    FROM entry AS e LEFT JOIN spread AS s USING (name)
    WHERE e.class NOT IN ('noise', 'treatment')
        AND (
            s.low <> s.high OR e.doubtful IS NOT NULL
            OR ((e.required OR (e.once_known AND s.low <> '(unset)')) AND coalesce(s.n, 0) < (SELECT count(*) FROM runs))
        )
),
single AS MATERIALIZED (
    SELECT s.name, CAST(md5_number_lower(s.name || '=' || factor_norm(e.how, e.pick, s.low)) AS HUGEINT) AS code
    FROM spread AS s JOIN entry AS e USING (name)
    WHERE s.name NOT IN (SELECT name FROM telling) AND e.class NOT IN ('noise', 'treatment') AND factor_norm(e.how, e.pick, s.low) IS NOT NULL
),
held_set AS MATERIALIZED (
    SELECT v.run_id, sum(s.code) AS held FROM value AS v JOIN single AS s USING (name) GROUP BY v.run_id
),
held_member AS (
    SELECT h.held, v.name FROM (SELECT held, min(run_id) AS run_id FROM held_set GROUP BY held) AS h JOIN value AS v USING (run_id)
),
held_both AS MATERIALIZED (
    SELECT a.held AS c_held, b.held AS b_held, sum(s.code) AS held
    FROM held_member AS a JOIN held_member AS b USING (name) JOIN single AS s USING (name) GROUP BY a.held, b.held
),
told AS MATERIALIZED (
    SELECT
        r.run_id, r.speculative, t.name, coalesce(factor_norm(t.how, t.pick, v.value), '') AS norm,
        CASE WHEN t.name IN (SELECT name FROM entailed_rule) THEN coalesce(r.version, '') ELSE '' END AS version,
        r.tree AND t.name IN (SELECT name FROM entailed_rule WHERE tree) AS tree
    FROM runs AS r CROSS JOIN telling AS t LEFT JOIN value AS v ON v.run_id = r.run_id AND v.name = t.name
),
configured AS MATERIALIZED (
    SELECT run_id, speculative, dense_rank() OVER (ORDER BY alike) AS configuration
    FROM (
        SELECT run_id, any_value(speculative) AS speculative, md5(string_agg(norm || chr(1) || version || chr(1) || tree, chr(2) ORDER BY name)) AS alike
        FROM told GROUP BY run_id
    )
),
configuration AS MATERIALIZED (
    SELECT c.configuration, t.speculative, t.name, t.norm, t.version, t.tree
    FROM (SELECT configuration, min(run_id) AS run_id FROM configured GROUP BY configuration, speculative) AS c
    JOIN told AS t USING (run_id)
),
side AS MATERIALIZED (
    SELECT row_number() OVER () AS side_no, * FROM (SELECT DISTINCT speculative, name, norm, version, tree FROM configuration)
),
placed AS MATERIALIZED (
    SELECT c.configuration, c.speculative, s.side_no FROM configuration AS c JOIN side AS s USING (speculative, name, norm, version, tree)
),
own AS MATERIALIZED (
    SELECT side_no, CAST(md5_number_lower(name || '=' || norm) AS HUGEINT) AS code FROM side
),
own_held AS (
    SELECT p.configuration, sum(o.code) AS held FROM placed AS p JOIN own AS o USING (side_no) WHERE p.speculative GROUP BY p.configuration
),
varying AS (
    SELECT name FROM side GROUP BY name HAVING count(*) FILTER (speculative) > 1 OR count(*) FILTER (NOT speculative) > 1
),
met AS MATERIALIZED (
    SELECT
        t.* EXCLUDE (place, pick, mend, about)
            REPLACE (factor_required(t.required, t.once_known, nullif(c.norm, ''), nullif(b.norm, '')) AS required),
        c.norm AS c_norm, c.version, c.tree, b.norm AS b_norm, c.side_no AS c_side, b.side_no AS b_side,
        factor_differs(t.how, t.tolerance, nullif(c.norm, ''), nullif(b.norm, '')) AS differs,
        coalesce(regexp_full_match(c.norm, t.doubtful) OR regexp_full_match(b.norm, t.doubtful), false) AS bad
    FROM side AS c JOIN side AS b ON b.name = c.name AND c.speculative AND NOT b.speculative JOIN telling AS t ON t.name = c.name
),
ruled AS (
    SELECT DISTINCT m.name, m.c_norm, m.version, m.tree, m.b_norm
    FROM met AS m JOIN entailed_rule AS r
        ON r.name = m.name AND m.differs
        AND entailed_by_rule(
            m.c_norm, m.b_norm, nullif(m.version, ''), m.tree, r.spec_value, r.plain_value, r.direction, r.within, r.tree, r.since,
            r.before
        )
),
outcome AS MATERIALIZED (
    SELECT
        m.name, m.c_norm, m.b_norm, m.c_side, m.b_side, m.differs, r.name IS NOT NULL AS entailed,
        factor_class(m.class, m.differs, r.name IS NOT NULL) AS class,
        factor_does(factor_class(m.class, m.differs, r.name IS NOT NULL), m.effect, m.otherwise, m.required, m.differs, m.bad) AS does
    FROM met AS m LEFT JOIN ruled AS r USING (name, c_norm, version, tree, b_norm)
),
effect AS MATERIALIZED (
    SELECT
        o.name, o.class, o.does, o.c_side, o.b_side, o.entailed AND o.differs AS entailed,
        o.name IN (SELECT name FROM varying) AS varies,
        CASE WHEN NOT o.differs THEN CAST(md5_number_lower(o.name || '=' || least(o.c_norm, o.b_norm)) AS HUGEINT) ELSE 0 END - c.code AS more,
        CASE WHEN o.does IS NOT NULL THEN dense_rank() OVER (ORDER BY o.does IS NULL, o.does, o.class, o.name) END AS effect_no
    FROM outcome AS o JOIN own AS c ON c.side_no = o.c_side
    WHERE o.does IS NOT NULL OR o.differs IS DISTINCT FROM false OR o.c_norm <> o.b_norm
),
summed AS MATERIALIZED (
    SELECT
        c.configuration AS cc, b.configuration AS bc,
        coalesce(list_sort(list(e.effect_no) FILTER (e.effect_no IS NOT NULL)), []) AS effects,
        count(*) FILTER (e.entailed) AS n_entailed,
        sum(e.more) AS more
    FROM placed AS c
    JOIN effect AS e ON e.c_side = c.side_no AND e.varies
    JOIN placed AS b ON b.side_no = e.b_side
    GROUP BY c.configuration, b.configuration
),
constant AS MATERIALIZED (
    SELECT
        coalesce(list(effect_no) FILTER (effect_no IS NOT NULL), []) AS effects,
        count(*) FILTER (entailed) AS n_entailed,
        coalesce(sum(more), 0) AS more
    FROM effect WHERE NOT varies
),
effect_text AS MATERIALIZED (
    SELECT effect_no, any_value(name) AS name, any_value(class) AS class, any_value(does) AS does FROM effect
    WHERE effect_no IS NOT NULL GROUP BY effect_no
),
member AS (
    SELECT s.effects, t.does, t.class, t.name
    FROM (
        SELECT effects, unnest(list_concat(effects, (SELECT effects FROM constant))) AS effect_no
        FROM (SELECT DISTINCT effects FROM summed UNION SELECT CAST([] AS BIGINT[]))
    ) AS s
    JOIN effect_text AS t USING (effect_no)
),
grouped AS (
    SELECT effects, does, class, count(*) AS n, list(name ORDER BY name) AS names FROM member GROUP BY effects, does, class
),
worded AS MATERIALIZED (
    SELECT
        effects, any_value(total.n_confounders) AS n_confounders, any_value(total.n_unknown) AS n_unknown,
        list(factor_reason(does, class, names) ORDER BY reason_place(does, class)) FILTER (does <> 'caveat') AS reasons,
        list(factor_reason(does, class, names) ORDER BY class) FILTER (does = 'caveat') AS caveats
    FROM grouped JOIN (
        SELECT effects, coalesce(sum(n) FILTER (does = 'unfair'), 0) AS n_confounders, coalesce(sum(n) FILTER (does = 'unproven'), 0) AS n_unknown
        FROM grouped GROUP BY effects
    ) AS total USING (effects)
    GROUP BY effects
),
kind AS MATERIALIZED (
    SELECT r.engine, r.speculative, c.configuration, h.held, list(r.run_id ORDER BY r.run_id) AS members,
        coalesce(list(y.run_id ORDER BY y.run_id) FILTER (y.run_id IS NOT NULL), []) AS vouching
    FROM runs AS r JOIN configured AS c ON c.run_id = r.run_id
    LEFT JOIN held_set AS h ON h.run_id = r.run_id
    LEFT JOIN vouching AS y ON y.run_id = r.run_id
    GROUP BY r.engine, r.speculative, c.configuration, h.held
)
SELECT
    c.members AS candidates,
    b.members AS baselines,
    CAST(coalesce(w.n_confounders, 0) AS INTEGER) AS n_confounders,
    CAST(coalesce(w.n_unknown, 0) AS INTEGER) AS n_unknown,
    CAST(coalesce(s.n_entailed, 0) + always.n_entailed AS INTEGER) AS n_entailed,
    coalesce(w.reasons, []) AS reasons,
    coalesce(w.caveats, []) AS caveats,
    substr(md5(CAST(coalesce(o.held, 0) + coalesce(s.more, 0) + always.more + coalesce(h.held, 0) AS VARCHAR)), 1, 12) AS contract_hash,
    c.vouching || b.vouching AS vouching
FROM kind AS c
JOIN kind AS b ON b.engine = c.engine AND c.speculative AND NOT b.speculative
CROSS JOIN constant AS always
LEFT JOIN own_held AS o ON o.configuration = c.configuration
LEFT JOIN summed AS s ON s.cc = c.configuration AND s.bc = b.configuration
LEFT JOIN worded AS w ON w.effects = coalesce(s.effects, [])
LEFT JOIN held_both AS h ON h.c_held = c.held AND h.b_held = b.held;

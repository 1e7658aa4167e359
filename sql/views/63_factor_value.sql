-- factor_value: everything known about a run under one name. Grain: (run_id, name). No row: unknown.
-- Names: arg.NAME, env.NAME, env.PREFIX_* ('recorded' when every variable of that family is known), fact.NAME, measure.NAME.
-- '(unset)': known not to be set, because the run's record covers the prefix. '(not applicable)': one GPU has no topology, a CPU no driver.
-- '(no such argument)': the server listed its arguments, and this version has none of that name.
-- Inputs: server_arg, env_var, env_scan, fact, run, annotation, measured, factor_entry. The annotations 'machine' and 'workload' are
-- labels that stand in for what no record says of hardware and software below the engine, and of the requests: the value is what the runs
-- of the label that recorded it agree on, else, of what is required, 'machine LABEL' or 'workload LABEL'. source: of what a record
-- and an annotation both cover it is the record ('manifest' sorts last).
CREATE OR REPLACE VIEW factor_value AS
WITH known_run AS MATERIALIZED (
    SELECT
        run_id, engine, served, server_args_line, version, version_min, version_max, version_source, speculative, steps,
        tp_size, pp_size, dp_size
    FROM run
),
said AS MATERIALIZED (
    SELECT run_id, key, value FROM annotation
),
argument AS MATERIALIZED (
    SELECT run_id, name, value, source, line_no FROM server_arg
),
variable AS MATERIALIZED (
    SELECT run_id, name, value, source, line_no FROM env_var
),
scan AS MATERIALIZED (
    SELECT run_id, prefix, source, line_no FROM env_scan
),
entry AS MATERIALIZED (
    SELECT name, class, required, once_known, needs FROM factor_entry
),
env_name AS (
    SELECT DISTINCT name FROM variable WHERE NOT ends_with(name, '.sha256')
),
env_known AS (
    SELECT
        e.run_id, e.name, source, line_no,
        coalesce('sha256:' || (SELECT any_value(h.value) FROM variable AS h WHERE h.run_id = e.run_id AND h.name = e.name || '.sha256'),
            e.value, '(unset)') AS value
    FROM variable AS e WHERE NOT ends_with(e.name, '.sha256')
    UNION ALL BY NAME
    SELECT s.run_id, n.name, '(unset)' AS value, max(s.source) AS source, max(s.line_no) AS line_no
    FROM scan AS s JOIN env_name AS n ON starts_with(n.name, s.prefix)
    WHERE NOT EXISTS (SELECT 1 FROM variable AS e WHERE e.run_id = s.run_id AND e.name = n.name)
    GROUP BY s.run_id, n.name
),
plain_fact AS MATERIALIZED (
    SELECT run_id, 'fact.' || name AS name, value, source, line_no FROM fact
    WHERE value IS NOT NULL AND name <> 'version'
    UNION ALL
    SELECT
        run_id, 'fact.version', coalesce(version, coalesce(version_min, '0') || '..' || coalesce(version_max, '999')),
        version_source, NULL
    FROM known_run WHERE version IS NOT NULL OR version_min IS NOT NULL OR version_max IS NOT NULL
    UNION ALL
    SELECT run_id, 'fact.engine', engine, 'log', server_args_line FROM known_run
    UNION ALL
    SELECT r.run_id, 'fact.profiling', 'off', 'log', r.server_args_line
    FROM known_run AS r
    WHERE r.served AND r.server_args_line IS NOT NULL AND r.engine = 'sglang'
        AND NOT EXISTS (SELECT 1 FROM fact AS f WHERE f.run_id = r.run_id AND f.name = 'profiling')
),
recorded AS (
    SELECT a.key, a.value AS label, f.name, min(f.value) AS value
    FROM said AS a JOIN plain_fact AS f ON f.run_id = a.run_id AND a.key IN ('machine', 'workload')
    GROUP BY a.key, a.value, f.name HAVING min(f.value) = max(f.value)
),
label AS (
    SELECT
        a.run_id, e.name, coalesce(r.value, a.key || ' ' || a.value) AS value, 'annotation' AS source, NULL::BIGINT AS line_no
    FROM said AS a JOIN entry AS e
        ON (e.required OR e.once_known) AND starts_with(e.name, 'fact.') AND (
            (a.key = 'machine' AND e.class IN ('environment', 'software')
                AND e.name NOT IN ('fact.profiling', 'fact.version', 'fact.engine'))
            OR (a.key = 'workload' AND e.class = 'workload')
        )
    LEFT JOIN recorded AS r ON r.key = a.key AND r.label = a.value AND r.name = e.name
    WHERE a.value IS NOT NULL AND (e.required OR r.value IS NOT NULL)
),
arm AS (
    SELECT
        r.run_id, r.server_args_line,
        r.tp_size * coalesce(r.pp_size, 1) * coalesce(r.dp_size, 1) = 1 AS alone,
        EXISTS (SELECT 1 FROM argument AS a WHERE a.run_id = r.run_id AND a.name = 'device' AND a.value = '"cpu"') AS cpu
    FROM known_run AS r
),
needless AS (
    SELECT a.run_id, e.name, '(not applicable)' AS value, 'log' AS source, a.server_args_line AS line_no
    FROM arm AS a JOIN entry AS e ON (e.needs = 'gpus' AND (a.alone OR a.cpu)) OR (e.needs = 'gpu' AND a.cpu)
),
absent AS (
    SELECT a.run_id, e.name, '(no such argument)' AS value, a.source, a.line_no
    FROM (SELECT run_id, any_value(source) AS source, any_value(line_no) AS line_no FROM argument GROUP BY run_id) AS a
    JOIN entry AS e ON e.required AND starts_with(e.name, 'arg.')
    WHERE NOT EXISTS (SELECT 1 FROM argument AS s WHERE s.run_id = a.run_id AND 'arg.' || s.name = e.name)
),
spare AS (
    SELECT * FROM needless
    UNION ALL
    SELECT * FROM label AS l WHERE NOT EXISTS (SELECT 1 FROM needless AS n WHERE n.run_id = l.run_id AND n.name = l.name)
)
SELECT run_id, 'arg.' || name AS name, value, source, line_no FROM argument
UNION ALL BY NAME
SELECT run_id, 'env.' || name AS name, value, source, line_no FROM env_known
UNION ALL BY NAME
SELECT s.run_id, e.name, 'recorded' AS value, max(s.source) AS source, max(s.line_no) AS line_no
FROM scan AS s
JOIN entry AS e ON e.required AND e.name GLOB 'env.*[*]' AND starts_with(substr(e.name, 5, length(e.name) - 5), s.prefix)
GROUP BY s.run_id, e.name
UNION ALL BY NAME
SELECT * FROM absent
UNION ALL BY NAME
SELECT * FROM plain_fact
UNION ALL BY NAME
SELECT run_id, name, value, 'log' AS source, line_no FROM measured
UNION ALL BY NAME
SELECT * FROM spare AS p WHERE NOT EXISTS (SELECT 1 FROM plain_fact AS f WHERE f.run_id = p.run_id AND f.name = p.name);

-- factor_value: everything known about a run under one name. Grain: (run_id, name).
-- Names: env.NAME, env.PREFIX_* ('recorded' when every variable of that family is known), arg.NAME, fact.NAME, measure.NAME.
-- No row: unknown. '(unset)': known not to be set, because the run's record covers its prefix.
-- Inputs: server_arg, env_var, env_scan, fact, run, annotation, raw_decode_window, catalogue_factor.
-- 'machine' and 'workload' annotations stand in for what no record says of hardware, software below the engine, and requests.
CREATE OR REPLACE VIEW factor_value AS
WITH env_name AS (
    SELECT DISTINCT name FROM env_var
    UNION
    SELECT 'EAGLE3_PROFILE'
),
env_known AS (
    SELECT run_id, name, coalesce(value, '(unset)') AS value, source, line_no FROM env_var
    UNION ALL
    SELECT s.run_id, n.name, '(unset)', any_value(s.source), any_value(s.line_no)
    FROM env_scan AS s JOIN env_name AS n ON starts_with(n.name, s.prefix)
    WHERE NOT EXISTS (SELECT 1 FROM env_var AS e WHERE e.run_id = s.run_id AND e.name = n.name)
    GROUP BY s.run_id, n.name
),
family AS (
    SELECT DISTINCT pattern, substr(pattern, 5, length(pattern) - 5) AS prefix
    FROM factor WHERE required AND starts_with(pattern, 'env.') AND ends_with(pattern, '*')
),
said AS (
    SELECT run_id, 'arg.' || name AS name, value, source, line_no FROM server_arg
    UNION ALL
    SELECT run_id, 'env.' || name, value, source, line_no FROM env_known
    UNION ALL
    SELECT s.run_id, f.pattern, 'recorded', any_value(s.source), any_value(s.line_no)
    FROM env_scan AS s JOIN family AS f ON starts_with(f.prefix, s.prefix)
    GROUP BY s.run_id, f.pattern
    UNION ALL
    SELECT run_id, 'fact.' || name, value, source, line_no FROM fact WHERE value IS NOT NULL
    UNION ALL
    SELECT run_id, 'fact.version', version, version_source, NULL FROM run WHERE version IS NOT NULL
    UNION ALL
    SELECT run_id, 'fact.engine', engine, 'log', server_args_line FROM run
    UNION ALL
    SELECT
        i.run_id, 'measure.graph',
        CASE WHEN bool_and(d.graph) THEN 'graphs' WHEN bool_or(d.graph) THEN 'some' ELSE 'none' END,
        'log', min(d.line_no)
    FROM raw_decode_window AS d JOIN current_ingest AS i USING (ingest_id)
    WHERE d.graph IS NOT NULL AND d.running_req > 0
    GROUP BY i.run_id
),
vouched AS (
    SELECT a.run_id, f.pattern AS name, a.key || ' ' || a.value AS value, 'annotation' AS source, NULL::BIGINT AS line_no
    FROM annotation AS a JOIN factor AS f
        ON f.required AND NOT contains(f.pattern, '*') AND (
            (a.key = 'machine' AND f.class IN ('environment', 'software') AND starts_with(f.pattern, 'fact.')
                AND f.pattern NOT IN ('fact.profiling', 'fact.version', 'fact.engine'))
            OR (a.key = 'workload' AND f.class = 'workload')
        )
    WHERE a.value IS NOT NULL
    UNION ALL
    SELECT run_id, 'fact.profiling', 'off', source, line_no
    FROM env_known WHERE name = 'EAGLE3_PROFILE' AND value IN ('(unset)', '0', '')
)
SELECT * FROM said
UNION ALL
SELECT * FROM vouched AS v WHERE NOT EXISTS (SELECT 1 FROM said AS s WHERE s.run_id = v.run_id AND s.name = v.name);

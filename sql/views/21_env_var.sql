-- env_var: environment variables known for a run. Grain: (run_id, name). value NULL: known to be unset.
-- Inputs: raw_env_var, annotation (keys 'env.NAME', which win). A variable without a row is unknown unless env_scan covers it.
CREATE OR REPLACE VIEW env_var AS
SELECT e.run_id, e.name, e.value, e.source, e.line_no
FROM raw_env_var AS e JOIN current_ingest AS i USING (ingest_id)
WHERE NOT EXISTS (SELECT 1 FROM annotation AS n WHERE n.run_id = e.run_id AND n.key = 'env.' || e.name)
UNION ALL BY NAME
SELECT run_id, substr(key, 5) AS name, value, 'annotation' AS source, NULL::BIGINT AS line_no
FROM annotation WHERE starts_with(key, 'env.');

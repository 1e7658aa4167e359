-- env_var: environment variables known for a run. Grain: (run_id, name). value NULL: known to be unset.
-- Inputs: raw_env_var, annotated_value (keys 'env.NAME', which win). A variable without a row is unknown unless env_scan covers it.
CREATE OR REPLACE VIEW env_var AS
SELECT e.run_id, e.name, e.value, e.source, e.line_no
FROM raw_env_var AS e JOIN current_ingest AS i USING (ingest_id)
ANTI JOIN (SELECT run_id, name FROM annotated_value WHERE kind = 'env') AS n ON n.run_id = e.run_id AND n.name = e.name
UNION ALL BY NAME
SELECT run_id, name, value, 'annotation' AS source, NULL::BIGINT AS line_no FROM annotated_value WHERE kind = 'env';

-- fact: what else is known about a run (GPU, driver, versions, workload, model config). Grain: (run_id, name).
-- Inputs: raw_fact, annotated_value (keys 'fact.NAME', which win).
CREATE OR REPLACE VIEW fact AS
SELECT f.run_id, f.name, f.value, f.source, f.line_no
FROM raw_fact AS f JOIN current_ingest AS i USING (ingest_id)
ANTI JOIN (SELECT run_id, name FROM annotated_value WHERE kind = 'fact') AS n ON n.run_id = f.run_id AND n.name = f.name
UNION ALL BY NAME
SELECT run_id, name, value, 'annotation' AS source, NULL::BIGINT AS line_no FROM annotated_value WHERE kind = 'fact';

-- fact: what else is known about a run (GPU, driver, versions, workload, model config). Grain: (run_id, name).
-- Inputs: raw_fact, annotation (keys 'fact.NAME', which win).
CREATE OR REPLACE VIEW fact AS
SELECT f.run_id, f.name, f.value, f.source, f.line_no
FROM raw_fact AS f JOIN current_ingest AS i USING (ingest_id)
WHERE NOT EXISTS (SELECT 1 FROM annotation AS n WHERE n.run_id = f.run_id AND n.key = 'fact.' || f.name)
UNION ALL BY NAME
SELECT run_id, substr(key, 6) AS name, value, 'annotation' AS source, NULL::BIGINT AS line_no
FROM annotation WHERE starts_with(key, 'fact.');

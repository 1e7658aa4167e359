-- server_arg: server arguments as resolved by the engine. Grain: (run_id, name). value is canonical JSON text.
-- Inputs: raw_server_arg, annotation (keys 'arg.NAME').
CREATE OR REPLACE VIEW server_arg AS
SELECT a.run_id, a.name, a.value, a.source, a.line_no
FROM raw_server_arg AS a JOIN current_ingest AS i USING (ingest_id)
WHERE NOT EXISTS (SELECT 1 FROM annotation AS n WHERE n.run_id = a.run_id AND n.key = 'arg.' || a.name)
UNION ALL BY NAME
SELECT run_id, substr(key, 5) AS name, value, 'annotation' AS source, NULL::BIGINT AS line_no
FROM annotation WHERE starts_with(key, 'arg.');

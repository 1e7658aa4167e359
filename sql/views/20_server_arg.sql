-- server_arg: server arguments as resolved by the engine. Grain: (run_id, name). value is canonical JSON text.
-- Inputs: raw_server_arg, annotated_value (keys 'arg.NAME').
CREATE OR REPLACE VIEW server_arg AS
SELECT a.run_id, a.name, a.value, a.source, a.line_no
FROM raw_server_arg AS a JOIN current_ingest AS i USING (ingest_id)
ANTI JOIN (SELECT run_id, name FROM annotated_value WHERE kind = 'arg') AS n ON n.run_id = a.run_id AND n.name = a.name
UNION ALL BY NAME
SELECT run_id, name, value, 'annotation' AS source, NULL::BIGINT AS line_no FROM annotated_value WHERE kind = 'arg';

-- env_scan: prefixes of environment variables a run's record covers completely. Grain: (run_id, prefix).
-- Inputs: raw_env_scan, annotation ('env' = 'complete' vouches for every prefix: prefix '').
CREATE OR REPLACE VIEW env_scan AS
SELECT s.run_id, s.prefix, 'manifest' AS source, s.line_no
FROM raw_env_scan AS s JOIN current_ingest AS i USING (ingest_id)
UNION ALL BY NAME
SELECT run_id, '' AS prefix, 'annotation' AS source, NULL::BIGINT AS line_no
FROM annotation WHERE key = 'env' AND value = 'complete';

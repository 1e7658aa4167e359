-- The environment variables known of each run ('(unset)' where the record proves that one was not set).
SELECT r.name AS run, e.name, coalesce(e.value, '(unset)') AS value, e.source, e.line_no
FROM env_var AS e JOIN run AS r USING (run_id)
ORDER BY r.started_at NULLS LAST, r.name, r.run_id, e.name;

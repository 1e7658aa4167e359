-- What is in the store: every column of view run.
SELECT * FROM run ORDER BY started_at NULLS LAST, name, run_id;

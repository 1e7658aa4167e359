-- annotated_value: annotations of one argument, variable or fact ('arg.NAME', 'env.NAME', 'fact.NAME') by kind and name.
-- Grain: (run_id, kind, name). Inputs: annotation.
CREATE OR REPLACE VIEW annotated_value AS
SELECT run_id, split_part(key, '.', 1) AS kind, substr(key, strpos(key, '.') + 1) AS name, value
FROM annotation
WHERE starts_with(key, 'arg.') OR starts_with(key, 'env.') OR starts_with(key, 'fact.');

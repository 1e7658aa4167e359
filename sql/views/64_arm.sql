-- arm: what of a run decides how it can be compared. Grain: run_id. Inputs: run. version: exact, or an inferred range 'A..B'.
CREATE OR REPLACE VIEW arm AS
SELECT
    run_id, name, engine, speculative, served, started_at,
    coalesce(version, CASE WHEN version_min IS NOT NULL THEN version_min || '..' || coalesce(version_max, '999') END) AS version
FROM run;

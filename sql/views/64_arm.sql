-- arm: what of a run decides how it can be compared. Grain: run_id. Inputs: run. version: exact, or an inferred range 'A..B'.
-- tree: speculation drafts a tree (topk above 1); false where topk is not known.
CREATE OR REPLACE VIEW arm AS
SELECT
    run_id, name, engine, speculative, served, started_at,
    coalesce(version, CASE WHEN version_min IS NOT NULL THEN version_min || '..' || coalesce(version_max, '999') END) AS version,
    coalesce(speculative AND topk > 1, false) AS tree
FROM run;

-- current_ingest: the ingest each run is seen through: the newest complete one. Grain: run_id.
-- Inputs: raw_ingest. Caveat: a run removed with `speclog runs rm` has a newer row with status 'removed' and is not here.
CREATE OR REPLACE VIEW current_ingest AS
SELECT * EXCLUDE (place)
FROM (
    SELECT *, row_number() OVER (PARTITION BY run_id ORDER BY ingested_at DESC, ingest_id DESC) AS place
    FROM raw_ingest
)
WHERE place = 1 AND status = 'complete';

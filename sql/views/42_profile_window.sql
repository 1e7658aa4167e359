-- profile_window: one row an EAGLE3_PROFILE window. Grain: (run_id, source_index, line_no). Inputs: raw_profile_window, current_ingest.
-- same_rounds: a lower rank (of its replica, `dp`) tells of the same rounds; with EAGLE3_PROFILE_ALL_RANKS every rank does. What counts rounds
-- leaves these rows out: they add no rounds, and nothing to how sure a mean is.
CREATE OR REPLACE VIEW profile_window AS
SELECT
    p.* EXCLUDE (ingest_id),
    coalesce(p.rank > min(p.rank) OVER (PARTITION BY p.run_id, TRY(json_extract_string(p.extra, '$.dp'))), false) AS same_rounds
FROM raw_profile_window AS p JOIN current_ingest AS i USING (ingest_id);

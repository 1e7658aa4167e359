-- profile_window: one row an EAGLE3_PROFILE window. Grain: (run_id, source_index, line_no). Inputs: raw_profile_window, current_ingest.
CREATE OR REPLACE VIEW profile_window AS
SELECT p.* EXCLUDE (ingest_id) FROM raw_profile_window AS p JOIN current_ingest AS i USING (ingest_id);

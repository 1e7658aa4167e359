-- decode_detail: what only some servers print on a decode line. Grain: (run_id, source_index, line_no), as decode_window.
-- Inputs: raw_decode_detail, current_ingest.
CREATE OR REPLACE VIEW decode_detail AS
SELECT d.* EXCLUDE (ingest_id) FROM raw_decode_detail AS d JOIN current_ingest AS i USING (ingest_id);

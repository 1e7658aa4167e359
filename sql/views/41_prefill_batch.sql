-- prefill_batch: one row a prefill line. Grain: (run_id, source_index, line_no). Inputs: raw_prefill_batch, current_ingest.
CREATE OR REPLACE VIEW prefill_batch AS
SELECT p.* EXCLUDE (ingest_id) FROM raw_prefill_batch AS p JOIN current_ingest AS i USING (ingest_id);

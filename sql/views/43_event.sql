-- event: everything else a run's log says. Grain: (run_id, source_index, line_no). Inputs: raw_event, current_ingest.
CREATE OR REPLACE VIEW event AS
SELECT e.* EXCLUDE (ingest_id) FROM raw_event AS e JOIN current_ingest AS i USING (ingest_id);

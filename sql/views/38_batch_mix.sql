-- batch_mix: are the requests of a batch equally long? Grain: (ingest_id, source_index, line_no). Inputs and caveats: batch_mix_of.
CREATE OR REPLACE VIEW batch_mix AS
SELECT * FROM batch_mix_of('run_reading');

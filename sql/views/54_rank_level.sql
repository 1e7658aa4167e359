-- rank_level: decode windows without a prefill by batch size and rank, as logged: for judging how a run was measured.
-- Grain: (run_id, batch_size, dp_rank, pp_rank). Inputs: summed_run, raw_rank_level; of runs without a summary raw_decode_window.
-- Columns: see rank_level_of.
CREATE OR REPLACE VIEW rank_level AS
SELECT s.run_id, k.* EXCLUDE (summary_id, ingest_id, run_id)
FROM summed_run AS s JOIN raw_rank_level AS k ON k.summary_id = s.summary_id
UNION ALL BY NAME
SELECT * FROM rank_level_of('open_run');

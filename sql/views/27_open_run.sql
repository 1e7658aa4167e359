-- open_run: the runs without a valid summary, whose levels are worked out from their windows when asked for. Grain: run_id.
-- Inputs: summed_run.
CREATE OR REPLACE VIEW open_run AS
SELECT * FROM summed_run WHERE summary_id IS NULL;

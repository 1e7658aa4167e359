-- every_pair: every ordered pair of runs. Grain: (candidate, baseline). Inputs: current_ingest. Filter it.
CREATE OR REPLACE VIEW every_pair AS
SELECT c.run_id AS candidate, b.run_id AS baseline
FROM current_ingest AS c JOIN current_ingest AS b ON c.run_id <> b.run_id;

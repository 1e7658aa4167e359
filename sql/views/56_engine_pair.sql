-- engine_pair: every ordered pair of runs of one engine. Grain: (candidate, baseline). Inputs: run. Filter it.
CREATE OR REPLACE VIEW engine_pair AS
SELECT c.run_id AS candidate, b.run_id AS baseline
FROM run AS c JOIN run AS b ON b.engine = c.engine AND c.run_id <> b.run_id;

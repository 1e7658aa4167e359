-- compared_pair: the pairs that view comparison judges: every speculative run with every plain run of the same engine.
-- Grain: (candidate, baseline). Inputs: arm.
CREATE OR REPLACE VIEW compared_pair AS
SELECT c.run_id AS candidate, b.run_id AS baseline
FROM arm AS c JOIN arm AS b ON b.engine = c.engine AND c.speculative AND NOT b.speculative;

-- comparison_factor: the factors of every speculative run against every plain run of the same engine, and their doubts.
-- Grain: (candidate, baseline, name). Inputs: factor_pair, run. For other pairs ask factor_pair.
CREATE OR REPLACE VIEW comparison_factor AS
SELECT f.*
FROM factor_pair AS f
JOIN run AS c ON c.run_id = f.candidate
JOIN run AS b ON b.run_id = f.baseline
WHERE c.speculative AND NOT b.speculative AND c.engine = b.engine;

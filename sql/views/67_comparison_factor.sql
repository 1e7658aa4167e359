-- comparison_factor: the factors of every speculative run against every plain run of the same engine.
-- Grain: (candidate, baseline, name). Inputs: factor_pair, arm. Filter on candidate and baseline. For other pairs ask factor_pair.
CREATE OR REPLACE VIEW comparison_factor AS
SELECT f.*
FROM factor_pair AS f
WHERE EXISTS (
    SELECT 1 FROM arm AS c JOIN arm AS b ON b.engine = c.engine
    WHERE c.run_id = f.candidate AND b.run_id = f.baseline AND c.speculative AND NOT b.speculative
);

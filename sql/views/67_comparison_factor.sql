-- comparison_factor: the factors of every speculative run against every plain run of the same engine.
-- Grain: (candidate, baseline, name). Inputs: factor_pair_of, compared_pair. Filter on candidate and baseline. For other pairs ask factor_pair.
CREATE OR REPLACE VIEW comparison_factor AS
SELECT * FROM factor_pair_of('compared_pair');

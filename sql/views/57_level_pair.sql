-- level_pair: break-even arithmetic of any two runs of one engine at each batch size of the first. Grain: (candidate, baseline, batch_size).
-- Inputs: engine_pair. Filter on candidate and baseline: unfiltered it is every ordered pair of runs. Method and columns: level_pair_of.
CREATE OR REPLACE VIEW level_pair AS
SELECT * FROM level_pair_of('engine_pair');

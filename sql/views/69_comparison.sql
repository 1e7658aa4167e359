-- comparison: the verdict on every speculative run against every plain run of the same engine. Grain: (candidate, baseline).
-- Inputs: comparison_of, compared_pair. For other pairs: compare('CANDIDATE', 'BASELINE').
-- verdict: fair (all that matters is known and equal), unfair (a confounder differs), unproven (something that matters is not known).
-- reasons: one text a class, weightiest first; caveats: what is not held against the pair but limits what it shows.
-- contract_hash: what was held equal (comparison_factor has the list). vouched: of some factor an annotation is the only source.
CREATE OR REPLACE VIEW comparison AS
SELECT * FROM comparison_of('compared_pair');

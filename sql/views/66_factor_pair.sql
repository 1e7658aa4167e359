-- factor_pair: every factor of any two runs, judged. Grain: (candidate, baseline, name), every ordered pair of runs.
-- Filter on candidate and baseline: unfiltered it is very large. Inputs: factor_pair_of, every_pair.
-- class: 'entailed' where SGLang makes the difference because of the treatment. does: what the row does to the verdict ('unfair',
-- 'unproven', 'caveat', NULL). differs NULL: a side is unknown, which is never equal. matters: does is 'unfair' or 'unproven'.
CREATE OR REPLACE VIEW factor_pair AS
SELECT * FROM factor_pair_of('every_pair');

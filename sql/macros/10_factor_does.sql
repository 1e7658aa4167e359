-- factor_does(class, effect, otherwise, required, differs, bad): what one factor does to a verdict.
-- 'unfair' a confounder differs · 'unproven' a required factor is unknown, or a difference whose weight nobody knows · 'caveat' said, not
-- held against the pair · NULL nothing. effect: what a difference does (default unfair; unproven when unclassified). bad: a side's value is
-- one that no comparison should rest on (catalogue key doubtful); otherwise says what that does (default caveat).
CREATE OR REPLACE MACRO factor_does(judged, effect, otherwise, required, differs, bad) AS
    CASE
        WHEN judged IN ('treatment', 'entailed', 'noise') THEN NULL
        WHEN differs AND coalesce(effect, CASE judged WHEN 'unclassified' THEN 'unproven' ELSE 'unfair' END) = 'unfair' THEN 'unfair'
        WHEN differs AND coalesce(effect, 'unproven') = 'unproven' THEN 'unproven'
        WHEN bad AND otherwise = 'unproven' THEN 'unproven'
        WHEN differs IS NULL AND required THEN 'unproven'
        WHEN bad OR differs THEN 'caveat'
    END;

-- factor: the catalogue of factors, one row a pattern of names. Grain: (pattern, place). Inputs: catalogue_factor (factors.toml).
-- tolerance: {rel, abs}; the catalogue's number is relative, its table {abs = ..., rel = ...} may hold both. NULL: none.
CREATE OR REPLACE VIEW factor AS
SELECT
    place, unnest(keys) AS pattern, class, coalesce("compare", 'exact') AS how, factor_tolerance(CAST(tolerance AS VARCHAR)) AS tolerance, pick,
    coalesce(required, false) AS required, coalesce(once_known, false) AS once_known, needs, better, effect, doubtful, coalesce(otherwise, 'caveat') AS otherwise,
    mend, about, "source"
FROM catalogue_factor;

-- factor_differs(compare, tolerance, a, b): whether two normalised values differ; NULL when that is not known (never equal).
-- '(not applicable)': one GPU talks to no other, so whatever the other side recorded is no difference (another number of GPUs is one itself).
-- A label that somebody vouched with (see factor_value) tells nothing of a recorded value.
-- number: the difference is above the larger of tolerance.abs and tolerance.rel times the larger number (equal texts, also inf, are equal).
-- version: an inferred range 'A..B' overlaps what it overlaps (unknown) and differs from what lies outside it; exact versions differ when any
-- of their numbers does. Anything else: the texts differ (see factor_norm).
CREATE OR REPLACE MACRO factor_differs(how, tolerance, a, b) AS
    CASE
        WHEN a IS NULL OR b IS NULL THEN NULL
        WHEN '(not applicable)' IN (a, b) THEN false
        WHEN factor_is_label(a) <> factor_is_label(b) THEN NULL
        WHEN how = 'version' AND (contains(a, '..') OR contains(b, '..')) THEN CASE
            WHEN version_key(string_split(a, '..')[-1]) < version_key(string_split(b, '..')[1])
                OR version_key(string_split(b, '..')[-1]) < version_key(string_split(a, '..')[1]) THEN true
        END
        WHEN how = 'number' AND TRY_CAST(a AS DOUBLE) IS NOT NULL AND TRY_CAST(b AS DOUBLE) IS NOT NULL
            THEN a <> b AND (
                isinf(CAST(a AS DOUBLE)) OR isinf(CAST(b AS DOUBLE)) OR abs(CAST(a AS DOUBLE) - CAST(b AS DOUBLE)) > greatest(
                    coalesce(tolerance.abs, 0), coalesce(tolerance.rel, 0) * greatest(abs(CAST(a AS DOUBLE)), abs(CAST(b AS DOUBLE)))
                )
            )
        WHEN how = 'path' AND a = b AND a = '(content not recorded)' THEN NULL
        WHEN how = 'path' AND a <> '(unset)' AND b <> '(unset)' AND '(content not recorded)' IN (a, b) THEN NULL
        ELSE a <> b
    END;

-- factor_differs(compare, tolerance, a, b): whether two normalised values differ; NULL when either is unknown (never equal).
-- number: relative difference above the tolerance; anything else: the normalised texts differ (see view factor_norm).
CREATE OR REPLACE MACRO factor_differs(how, tolerance, a, b) AS
    CASE
        WHEN a IS NULL OR b IS NULL THEN NULL
        WHEN how = 'number' AND TRY_CAST(a AS DOUBLE) IS NOT NULL AND TRY_CAST(b AS DOUBLE) IS NOT NULL
            THEN abs(CAST(a AS DOUBLE) - CAST(b AS DOUBLE))
                > coalesce(tolerance, 0) * greatest(abs(CAST(a AS DOUBLE)), abs(CAST(b AS DOUBLE)))
        ELSE a <> b
    END;

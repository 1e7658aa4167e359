-- factor_favours(better, a, b): which side a difference favours, 'candidate' (value a) or 'baseline' (value b); NULL when not known.
-- better: 'higher' or 'lower' for numbers, else a regular expression that the faster side's value matches and the other's does not.
CREATE OR REPLACE MACRO factor_favours(better, a, b) AS
    CASE
        WHEN better IS NULL OR a IS NULL OR b IS NULL THEN NULL
        WHEN better IN ('higher', 'lower') THEN CASE
            WHEN TRY_CAST(a AS DOUBLE) = TRY_CAST(b AS DOUBLE) THEN NULL
            WHEN (TRY_CAST(a AS DOUBLE) > TRY_CAST(b AS DOUBLE)) = (better = 'higher') THEN 'candidate'
            WHEN (TRY_CAST(a AS DOUBLE) < TRY_CAST(b AS DOUBLE)) = (better = 'higher') THEN 'baseline'
        END
        WHEN regexp_full_match(a, better) AND NOT regexp_full_match(b, better) THEN 'candidate'
        WHEN regexp_full_match(b, better) AND NOT regexp_full_match(a, better) THEN 'baseline'
    END;

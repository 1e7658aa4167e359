-- factor_matters(class, required, differs): what a row does to the verdict: 'unfair' (a confounder differs), 'unproven' (a required
-- factor is unknown, or one nobody classified differs), NULL (nothing).
CREATE OR REPLACE MACRO factor_matters(judged, required, differs) AS
    CASE
        WHEN judged IN ('treatment', 'entailed', 'noise') THEN NULL
        WHEN differs AND judged = 'unclassified' THEN 'unproven'
        WHEN differs THEN 'unfair'
        WHEN differs IS NULL AND required THEN 'unproven'
    END;

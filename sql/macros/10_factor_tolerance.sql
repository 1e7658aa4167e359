-- factor_tolerance(text): a catalogue's tolerance as {rel, abs}: a bare number is relative, JSON may hold either or both; NULL for NULL.
CREATE OR REPLACE MACRO factor_tolerance(told) AS
    CASE
        WHEN told IS NULL THEN NULL
        WHEN TRY_CAST(told AS DOUBLE) IS NOT NULL THEN {'rel': CAST(told AS DOUBLE), 'abs': CAST(0 AS DOUBLE)}
        ELSE {
            'rel': coalesce(CAST(json_extract_string(told, '$.rel') AS DOUBLE), 0),
            'abs': coalesce(CAST(json_extract_string(told, '$.abs') AS DOUBLE), 0)
        }
    END;

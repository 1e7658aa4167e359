-- factor_reason(does, class, names): one reason of a verdict in words: how many factors of a class differ or are unknown, and which.
CREATE OR REPLACE MACRO factor_reason(does, judged, names) AS
    len(names) || ' ' || judged || CASE
        WHEN does = 'caveat' THEN CASE len(names) WHEN 1 THEN ' caveat: ' ELSE ' caveats: ' END
        WHEN judged = 'measurement' AND does <> 'unfair' THEN CASE len(names) WHEN 1 THEN ' doubt: ' ELSE ' doubts: ' END
        WHEN does = 'unproven' AND judged <> 'unclassified' THEN CASE len(names)
            WHEN 1 THEN ' factor is not known on both sides: ' ELSE ' factors are not known on both sides: '
        END
        WHEN len(names) = 1 THEN ' factor differs: '
        ELSE ' factors differ: '
    END || array_to_string([regexp_replace(name, '^(env|arg|fact|measure)\.', '') FOR name IN names], ', ');

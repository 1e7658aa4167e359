-- shell_quote(text): a value as one word of a POSIX shell command; values come from logs and are hostile.
CREATE OR REPLACE MACRO shell_quote(word) AS
    CASE
        WHEN regexp_full_match(word, '[A-Za-z0-9_./:=,@%+-]+') THEN word
        ELSE '''' || replace(word, '''', '''\''''') || ''''
    END;

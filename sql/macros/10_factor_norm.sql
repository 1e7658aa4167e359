-- factor_norm(compare, pick, value): a value in the form in which it is compared; NULL stays NULL (unknown).
-- version: its numbers (a range 'A..B' stays). set: items sorted. path: a file's content decides, so without a hash it is '(content not recorded)'.
-- pick: only these JSON paths of a structured value. Numbers and texts stay, without the quotes of JSON text.
-- A label stays as it is: the 200 in 'machine h200' is no version.
CREATE OR REPLACE MACRO factor_norm(how, pick, value) AS
    CASE
        WHEN value IS NULL THEN NULL
        WHEN factor_is_label(value) THEN value
        WHEN pick IS NOT NULL AND TRY_CAST(value AS JSON) IS NOT NULL
            THEN CAST([coalesce(json_extract_string(value, part), '-') FOR part IN pick] AS VARCHAR)
        WHEN how = 'version' AND contains(value, '..') THEN value
        WHEN how = 'version' THEN coalesce(nullif(regexp_extract(value, '\d+(\.\d+){0,2}(\.?(post|rc)\d+)?'), ''), value)
        WHEN how = 'set'
            THEN coalesce(nullif(
                array_to_string(list_sort(string_split(regexp_replace(value, '[\[\]"\s]', '', 'g'), ',')), ','), ''
            ), '(none)')
        WHEN how = 'path' THEN CASE
            WHEN value IN ('(unset)', '') THEN '(unset)'
            WHEN starts_with(value, 'sha256:') THEN value
            ELSE '(content not recorded)'
        END
        ELSE coalesce(nullif(trim(value, '"'), ''), '(empty)')
    END;

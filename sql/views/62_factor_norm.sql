-- factor_norm: factor_value with what the catalogue says of the name, and the value in the form in which it is compared.
-- Grain: (run_id, name). Inputs: factor_value, factor. A name no entry matches has class 'unclassified'.
CREATE OR REPLACE VIEW factor_norm AS
WITH value AS MATERIALIZED (
    SELECT * FROM factor_value
),
entry AS (
    SELECT n.name, f.*
    FROM (SELECT DISTINCT name FROM value) AS n
    LEFT JOIN factor AS f ON n.name = f.pattern OR (contains(f.pattern, '*') AND n.name GLOB f.pattern)
    QUALIFY row_number() OVER (
        PARTITION BY n.name ORDER BY (n.name = f.pattern) DESC, length(f.pattern) DESC, f.place
    ) = 1
)
SELECT
    v.run_id, v.name, v.value, v.source, v.line_no,
    coalesce(e.class, 'unclassified') AS class,
    coalesce(e.how, 'exact') AS how,
    e.tolerance, coalesce(e.required, false) AS required, e.better, e.mend,
    CASE
        WHEN e.pick IS NOT NULL AND json_valid(v.value)
            THEN CAST([coalesce(json_extract_string(v.value, part), '-') FOR part IN e.pick] AS VARCHAR)
        WHEN e.how = 'version' THEN coalesce(nullif(regexp_extract(v.value, '\d+(\.\d+){0,2}'), ''), v.value)
        WHEN e.how = 'set'
            THEN array_to_string(list_sort(string_split(regexp_replace(v.value, '[\[\]"\s]', '', 'g'), ',')), ',')
        ELSE v.value
    END AS norm
FROM value AS v JOIN entry AS e USING (name);

-- version_key(text): the numbers of a version as a list that sorts: '0.5.13.post1' -> [0, 5, 13, 1]. NULL for NULL.
CREATE OR REPLACE MACRO version_key(version_text) AS
    CAST(regexp_extract_all(version_text, '\d{1,6}') AS INTEGER[]);

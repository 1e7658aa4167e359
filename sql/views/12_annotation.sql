-- annotation: what people vouch for. Grain: (run_id, key), newest value. Inputs: raw_annotation.
CREATE OR REPLACE VIEW annotation AS
SELECT * EXCLUDE (place)
FROM (
    SELECT *, row_number() OVER (PARTITION BY run_id, key ORDER BY annotated_at DESC) AS place
    FROM raw_annotation
)
WHERE place = 1;

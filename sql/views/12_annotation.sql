-- annotation: what people vouch for. Grain: (run_id, key), newest value; a key whose newest value was withdrawn has no row.
-- value NULL: a variable ('env.NAME') vouched to be unset. Inputs: raw_annotation.
CREATE OR REPLACE VIEW annotation AS
SELECT * EXCLUDE (place)
FROM (
    SELECT *, row_number() OVER (PARTITION BY run_id, key ORDER BY annotated_at DESC, value DESC NULLS LAST) AS place
    FROM raw_annotation
)
WHERE place = 1 AND coalesce(value, CASE WHEN starts_with(key, 'env.') THEN 'unset' ELSE '' END) <> '';

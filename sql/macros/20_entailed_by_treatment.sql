-- entailed_by_treatment(name, a, a_speculative, a_version, b, b_speculative, b_version): whether a rule of catalogue_entailed (factors.toml) explains
-- (a macro cannot be given a column of the rule here, so version_key is written out for the rule's side)
-- that a and b differ: exactly one side speculates, and its value, the other's and its engine version are as the rule says.
CREATE OR REPLACE MACRO entailed_by_treatment(factor_name, a, a_spec, a_version, b, b_spec, b_version) AS
    coalesce(a_spec <> b_spec, false) AND EXISTS (
        SELECT 1 FROM catalogue_entailed AS r
        WHERE
            list_contains(r.keys, factor_name)
            AND (r.spec_value IS NULL OR regexp_full_match(CASE WHEN a_spec THEN a ELSE b END, r.spec_value))
            AND (r.plain_value IS NULL OR regexp_full_match(CASE WHEN a_spec THEN b ELSE a END, r.plain_value))
            AND (
                r."order" IS NULL
                OR TRY_CAST(CASE WHEN a_spec THEN a ELSE b END AS DOUBLE)
                    < TRY_CAST(CASE WHEN a_spec THEN b ELSE a END AS DOUBLE)
            )
            AND (
                r.before IS NULL
                OR version_key(CASE WHEN a_spec THEN a_version ELSE b_version END) < CAST(regexp_extract_all(r.before, '\d{1,6}') AS INTEGER[])
            )
            AND (
                r.since IS NULL
                OR version_key(CASE WHEN a_spec THEN a_version ELSE b_version END) >= CAST(regexp_extract_all(r.since, '\d{1,6}') AS INTEGER[])
            )
    );

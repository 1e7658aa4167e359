-- factor_mend(mend, name, baseline_value): the catalogue's mend for one difference: {name} without its prefix, {flag} with dashes,
-- {value} what the baseline has. An environment variable that the baseline does not set is unset.
CREATE OR REPLACE MACRO factor_mend(mend, factor, wanted) AS
    CASE
        WHEN mend IS NULL THEN NULL
        WHEN starts_with(factor, 'env.') AND wanted = '(unset)' THEN 'unset ' || substr(factor, 5)
        ELSE replace(
            replace(
                replace(mend, '{name}', regexp_replace(factor, '^(env|arg|fact)\.', '')),
                '{flag}', replace(regexp_replace(factor, '^(env|arg|fact)\.', ''), '_', '-')
            ),
            '{value}', coalesce(shell_quote(trim(wanted, '"')), '?')
        )
    END;

-- factor_mend(mend, factor, wanted): the catalogue's mend for one difference: {name} without its prefix, {flag} with dashes,
-- {value} what the baseline has. An environment variable that the baseline does not set is unset.
-- Names come from logs and are hostile, and a mend is there to be copied: one that is no shell identifier (a variable), no option
-- (a server argument) or no plain word (a fact) never gets into a command; the mend then says in words what to do.
CREATE OR REPLACE MACRO factor_mend(mend, factor, wanted) AS
    CASE
        WHEN mend IS NULL OR wanted = '(no such argument)' THEN NULL  -- no option sets what that version does not have
        WHEN starts_with(factor, 'env.') AND NOT regexp_full_match(factor, 'env\.[A-Za-z_][A-Za-z0-9_]*')
            THEN 'give both arms the same by hand: no shell can set a variable of this name'
        WHEN starts_with(factor, 'env.') AND wanted = '(unset)' THEN 'unset ' || substr(factor, 5)
        WHEN starts_with(factor, 'arg.') AND NOT regexp_full_match(factor, 'arg\.[a-z0-9][a-z0-9_-]*')
            THEN 'give both arms the same by hand: this is the name of no option'
        WHEN NOT regexp_full_match(factor, '[A-Za-z0-9_.-]+') AND (contains(mend, '{name}') OR contains(mend, '{flag}'))
            THEN 'give both arms the same by hand'
        ELSE replace(
            replace(
                replace(mend, '{name}', regexp_replace(factor, '^(env|arg|fact)\.', '')),
                '{flag}', replace(regexp_replace(factor, '^(env|arg|fact)\.', ''), '_', '-')
            ),
            '{value}', coalesce(shell_quote(trim(wanted, '"')), '?')
        )
    END;

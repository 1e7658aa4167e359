-- entailed_by_rule(spec value, plain value, version, rule's columns...): whether one rule of catalogue_entailed explains a difference:
-- the speculative side's value, the plain side's and the speculative side's engine version are as the rule says.
-- An unknown version takes the rule (the difference is shown as entailed, with its cost); an inferred range counts by its newest version.
-- spec_tree: the speculative side drafts a tree (topk above 1); a rule about trees explains nothing of a chain, nor of an unknown topk.
CREATE OR REPLACE MACRO entailed_by_rule(
    spec, plain, spec_version, spec_tree, rule_spec, rule_plain, rule_order, rule_within, rule_tree, since, before
) AS
    (NOT rule_tree OR spec_tree)
    AND (rule_spec IS NULL OR regexp_full_match(spec, rule_spec))
    AND (rule_plain IS NULL OR regexp_full_match(plain, rule_plain))
    AND (rule_order IS NULL OR coalesce(TRY_CAST(spec AS DOUBLE) < TRY_CAST(plain AS DOUBLE), false))
    AND (
        rule_within IS NULL
        OR coalesce(TRY_CAST(spec AS DOUBLE) >= (1 - rule_within) * TRY_CAST(plain AS DOUBLE), false)
    )
    AND (before IS NULL OR spec_version IS NULL OR version_key(string_split(spec_version, '..')[1]) < version_key(before))
    AND (since IS NULL OR spec_version IS NULL OR version_key(string_split(spec_version, '..')[-1]) >= version_key(since));

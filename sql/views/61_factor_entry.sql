-- factor_entry: the catalogue's entry for every name of a factor that occurs in the store or is required. Grain: name.
-- The entry that names it exactly wins, else the longest matching pattern, else the earlier one; none: class 'unclassified'.
-- required: of environment variables only the family is (env.NCCL_*): when it is recorded, every variable of it is known.
-- once_known: required of both sides as soon as one of them has it: a fact that the catalogue names so, or a variable of no
-- required family, as soon as one of them sets it.
-- Inputs: factor, raw_server_arg, raw_env_var, raw_fact, raw_annotation.
CREATE OR REPLACE VIEW factor_entry AS
WITH name AS (
    SELECT DISTINCT 'arg.' || name AS name FROM raw_server_arg
    UNION
    SELECT DISTINCT 'env.' || regexp_replace(name, '\.sha256$', '') FROM raw_env_var
    UNION
    SELECT DISTINCT 'fact.' || name FROM raw_fact
    UNION
    SELECT DISTINCT key FROM raw_annotation WHERE regexp_matches(key, '^(arg|env|fact)\.')
    UNION
    SELECT pattern FROM factor WHERE NOT contains(pattern, '*') OR (required AND pattern GLOB 'env.*[*]')
)
SELECT
    n.name, f.place, coalesce(f.class, 'unclassified') AS class, coalesce(f.how, 'exact') AS how, f.tolerance, f.pick,
    coalesce(f.required AND (NOT starts_with(n.name, 'env.') OR ends_with(n.name, '*')), false) AS required,
    coalesce(f.once_known, false) OR (
        coalesce(f.class, 'unclassified') IN ('environment', 'unclassified') AND starts_with(n.name, 'env.') AND NOT coalesce(f.required, false)
    ) AS once_known,
    f.needs, f.better, f.effect, f.doubtful, f.otherwise, f.mend, f.about
FROM name AS n
LEFT JOIN factor AS f ON n.name = f.pattern OR (contains(f.pattern, '*') AND n.name GLOB f.pattern)
QUALIFY row_number() OVER (
    PARTITION BY n.name ORDER BY (n.name = f.pattern) DESC, length(f.pattern) DESC, f.place
) = 1;

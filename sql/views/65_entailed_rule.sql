-- entailed_rule: differences that SGLang makes itself because of speculation. Grain: (name, place). Inputs: catalogue_entailed.
CREATE OR REPLACE VIEW entailed_rule AS
SELECT
    place, unnest(keys) AS name, spec_value, plain_value, "order" AS direction, CAST(within AS DOUBLE) AS within,
    coalesce(CAST(tree AS BOOLEAN), false) AS tree, CAST(since AS VARCHAR) AS since, CAST(before AS VARCHAR) AS before, cost, about, "source"
FROM catalogue_entailed;

-- factor_required(required, once_set, a, b): whether a factor must be known of both sides: the catalogue says so, or it is a variable of no
-- family that is always recorded, and one side (normalised values; NULL: not known) sets it: unknown is not equal, then.
CREATE OR REPLACE MACRO factor_required(is_required, once_set, a, b) AS
    is_required OR (once_set AND coalesce(nullif(a, '(unset)'), nullif(b, '(unset)')) IS NOT NULL);

-- factor_required(required, once_known, a, b): whether a factor must be known of both sides: the catalogue says so, or it is one that need not
-- be recorded (factor_entry.once_known), and one side (normalised values; NULL: not known) has it or sets it: unknown is not equal, then.
CREATE OR REPLACE MACRO factor_required(is_required, once_known, a, b) AS
    is_required OR (once_known AND coalesce(nullif(a, '(unset)'), nullif(b, '(unset)')) IS NOT NULL);

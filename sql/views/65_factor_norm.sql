-- factor_norm: factor_value with what the catalogue says of the name, and the value in the form in which it is compared.
-- Grain: (run_id, name). Inputs: factor_value, factor_entry. A name no entry matches has class 'unclassified'.
CREATE OR REPLACE VIEW factor_norm AS
SELECT
    v.run_id, v.name, v.value, v.source, v.line_no, e.class, e.how, e.tolerance, e.required, e.better, e.mend,
    factor_norm(e.how, e.pick, v.value) AS norm
FROM factor_value AS v JOIN factor_entry AS e USING (name);

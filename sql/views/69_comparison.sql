-- comparison: the verdict on every speculative run against every plain run of the same engine. Grain: (candidate, baseline).
-- Inputs: verdict, run, annotation. For other pairs ask verdict. A run that never served cannot be compared: unproven at best.
CREATE OR REPLACE VIEW comparison AS
SELECT
    v.candidate,
    c.name AS candidate_name,
    v.baseline,
    b.name AS baseline_name,
    CASE WHEN v.verdict = 'fair' AND NOT (c.served AND b.served) THEN 'unproven' ELSE v.verdict END AS verdict,
    v.n_confounders,
    v.n_unknown,
    v.n_entailed,
    CASE
        WHEN c.served AND b.served THEN v.reasons
        ELSE list_append(v.reasons, CASE WHEN c.served THEN b.name ELSE c.name END || ' never served')
    END AS reasons,
    v.contract_hash,
    EXISTS (SELECT 1 FROM annotation AS a WHERE a.run_id IN (v.candidate, v.baseline) AND a.key NOT IN ('tag', 'note')) AS vouched
FROM verdict AS v
JOIN run AS c ON c.run_id = v.candidate
JOIN run AS b ON b.run_id = v.baseline
WHERE c.speculative AND NOT b.speculative AND c.engine = b.engine;

-- break_even: every speculative run against every plain run of the same engine, at each batch size of the candidate.
-- Grain: (candidate, baseline, batch_size). Inputs: level_pair, comparison. For other pairs (two speculative runs) ask level_pair.
-- tau_star = t_spec_ms / t_base_ms at the same context, margin_tokens = tau - tau_star, margin_ms = tau * t_base_ms - t_spec_ms,
-- speedup = tau / tau_star, margin_pct = 100 * (speedup - 1). Point estimates only: intervals are in the report
-- (speclog.analysis.breakeven). verdict: is the comparison fair at all? Where it is not 'fair' a number here proves nothing.
CREATE OR REPLACE VIEW break_even AS
SELECT
    p.candidate,
    p.candidate_name,
    p.baseline,
    p.baseline_name,
    v.verdict,
    p.* EXCLUDE (candidate, candidate_name, baseline, baseline_name, baseline_tau)
FROM level_pair AS p
JOIN comparison AS v ON v.candidate = p.candidate AND v.baseline = p.baseline;

-- Break-even of every speculative run against every plain run: point estimates; the report has the intervals.
SELECT
    candidate_name AS candidate, baseline_name AS baseline, verdict, batch_size, round(context) AS context, tau, tau_star,
    margin_tokens, margin_pct, naive_speedup, refused, candidate_lines, baseline_lines
FROM break_even
ORDER BY candidate, baseline, batch_size, break_even.candidate, break_even.baseline;

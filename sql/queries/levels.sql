-- The clean windows of each run by batch size: how many, how fast, at which contexts, and the line of round time.
SELECT
    run, batch_size, n_clean, n_windows, usable_pct, tau, round_ms, tok_s, context_min, context_max, fit_a_ms,
    1000 * fit_c_ms_per_token AS fit_ms_per_1000_tokens, graph_off, queueing, retractions
FROM level
ORDER BY run, batch_size, run_id;

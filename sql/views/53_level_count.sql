-- level_count: counts and medians of each level, without its line. Grain: (run_id, batch_size).
-- Inputs: summed_run, raw_level; of runs without a summary their windows (open_window). Columns: see level_count_of.
CREATE OR REPLACE VIEW level_count AS
SELECT
    s.run_id, s.name AS run, l.batch_size, l.n_windows, l.dp_ranks, l.n_clean, l.tau, l.round_ms, l.round_mad_ms, l.tok_s,
    l.graph_off, l.queueing, l.first_line, l.last_line
FROM summed_run AS s JOIN raw_level AS l ON l.summary_id = s.summary_id
UNION ALL BY NAME
SELECT * FROM level_count_of('open_window');

-- level_line: the robust line of round time over context of each part of a level. Grain: (run_id, batch_size, eager, band).
-- Inputs: summed_run, raw_level_line; of runs without a summary their windows (open_window). The method is that of level_line_of.
-- Columns: see level_line_of. Caveat: for runs without a summary the lines are fitted when they are asked for.
CREATE OR REPLACE VIEW level_line AS
SELECT
    s.run_id, l.batch_size, l.eager, l.band, l.mixed, l.n, l.n_fit, l.tau, l.round_ms, l.context_min, l.context_max, l.fit_a_ms,
    l.fit_c_ms_per_token, l.first_line, l.last_line
FROM summed_run AS s JOIN raw_level_line AS l ON l.summary_id = s.summary_id
UNION ALL BY NAME
SELECT * FROM level_line_of('open_window');

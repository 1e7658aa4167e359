-- How many decode windows of each run count, and why the others do not.
SELECT run, coalesce(excluded, 'clean') AS why, count(*) AS windows, min(line_no) AS first_line, max(line_no) AS last_line
FROM decode_window
GROUP BY run_id, run, excluded
ORDER BY run, windows DESC, first_line, run_id;

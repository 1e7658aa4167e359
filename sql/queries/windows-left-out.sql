-- How many decode windows of each run count, and why the others do not.
SELECT run, coalesce(excluded, 'clean') AS why, count(*) AS windows, min(line_no) AS first_line, max(line_no) AS last_line
FROM decode_window
GROUP BY ALL
ORDER BY run, windows DESC;

-- level: one row a run and batch size. Grain: (run_id, batch_size). Inputs: level_count, level_line, event.
-- round_ms and its MAD, tau and tok_s are over all clean windows; fit_*, context_min and context_max are those of the part (band of
-- context, with or without CUDA graph) that holds most clean windows; parts says how many there are (see level_line).
-- tok_s: the median of one DP rank's clean windows times the ranks. Without a clean window everything but the counts is NULL.
CREATE OR REPLACE VIEW level AS
WITH counted AS MATERIALIZED (
    SELECT * FROM level_count
),
retracted AS (
    SELECT c.run_id, c.batch_size, count(*) AS retractions
    FROM counted AS c
    JOIN event AS e ON e.run_id = c.run_id AND e.kind = 'retract' AND e.line_no BETWEEN c.first_line AND c.last_line
    GROUP BY c.run_id, c.batch_size
),
main AS (
    SELECT *, count(*) OVER (PARTITION BY run_id, batch_size) AS parts
    FROM level_line
    QUALIFY row_number() OVER (PARTITION BY run_id, batch_size ORDER BY n DESC, eager, band) = 1
)
SELECT
    c.run_id,
    c.run,
    c.batch_size,
    c.n_windows,
    c.n_clean,
    100.0 * c.n_clean / c.n_windows AS usable_pct,
    c.tau,
    c.round_ms,
    c.round_mad_ms,
    c.tok_s,
    c.dp_ranks,
    m.context_min,
    m.context_max,
    m.fit_a_ms,
    m.fit_c_ms_per_token,
    m.n AS n_part,
    m.n_fit,
    m.parts,
    c.graph_off,
    c.queueing,
    coalesce(r.retractions, 0) AS retractions,
    c.first_line,
    c.last_line
FROM counted AS c
LEFT JOIN main AS m USING (run_id, batch_size)
LEFT JOIN retracted AS r USING (run_id, batch_size);

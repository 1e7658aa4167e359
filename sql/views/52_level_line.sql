-- level_line: the robust line round_ms = fit_a_ms + fit_c_ms_per_token * context of each part of a level.
-- Grain: (run_id, batch_size, eager, band). Inputs: clean_window.
-- Method (the same as speclog.analysis.line, a test says so): Theil-Sen through the medians of at most 16 context bins; windows whose
-- residual is farther than 5 * 1.4826 * MAD + 0.1 % of the median round from the median residual are trimmed; least squares on the rest.
-- Without spread of context the slope is 0. tau is the mean over all windows of the part, trimmed or not: every window has as many rounds.
-- mixed: the part's batches hold requests of unequal length. context_min, context_max: contexts the windows cover (middle -+ half a window). n_fit: windows the line rests on.
CREATE OR REPLACE VIEW level_line AS
WITH binned AS MATERIALIZED (
    SELECT
        *,
        ntile(16) OVER (
            PARTITION BY run_id, batch_size, eager, band ORDER BY context, source_index, line_no
        ) AS bin
    FROM clean_window
),
point AS (
    SELECT run_id, batch_size, eager, band, bin, median(context) AS x, median(round_ms) AS y
    FROM binned GROUP BY ALL
),
slope AS (
    SELECT p.run_id, p.batch_size, p.eager, p.band, median((q.y - p.y) / (q.x - p.x)) FILTER (q.x > p.x) AS c
    FROM point AS p JOIN point AS q USING (run_id, batch_size, eager, band)
    GROUP BY ALL
),
start AS (
    SELECT
        run_id, batch_size, eager, band, any_value(coalesce(s.c, 0)) AS c, median(p.y - coalesce(s.c, 0) * p.x) AS a
    FROM point AS p JOIN slope AS s USING (run_id, batch_size, eager, band)
    GROUP BY run_id, batch_size, eager, band
),
residual AS MATERIALIZED (
    SELECT w.*, w.round_ms - s.a - s.c * w.context AS off
    FROM binned AS w JOIN start AS s USING (run_id, batch_size, eager, band)
),
spread AS (
    SELECT
        run_id, batch_size, eager, band, median(off) AS middle,
        5 * 1.4826 * mad(off) + 0.001 * median(round_ms) AS reach
    FROM residual GROUP BY run_id, batch_size, eager, band
),
judged AS (
    SELECT r.*, abs(r.off - s.middle) <= s.reach AS kept
    FROM residual AS r JOIN spread AS s USING (run_id, batch_size, eager, band)
)
SELECT
    run_id,
    batch_size,
    eager,
    band,
    any_value(mixed) AS mixed,
    count(*) AS n,
    count(*) FILTER (kept) AS n_fit,
    avg(tau) AS tau,
    median(round_ms) AS round_ms,
    min(context - half_span) AS context_min,
    max(context + half_span) AS context_max,
    CASE
        WHEN max(context) FILTER (kept) > min(context) FILTER (kept)
            THEN regr_intercept(round_ms, context) FILTER (kept)
        ELSE avg(round_ms) FILTER (kept)
    END AS fit_a_ms,
    CASE
        WHEN max(context) FILTER (kept) > min(context) FILTER (kept)
            THEN regr_slope(round_ms, context) FILTER (kept)
        ELSE 0
    END AS fit_c_ms_per_token,
    min(line_no) AS first_line,
    max(line_no) AS last_line
FROM judged
GROUP BY run_id, batch_size, eager, band;

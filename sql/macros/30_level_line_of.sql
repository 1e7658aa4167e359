-- level_line_of(source): the robust line round_ms = fit_a_ms + fit_c_ms_per_token * context of each part of a level, over the clean
-- windows, as far as their context is known, of a relation like level_window. Grain: (run_id, batch_size, eager, band). View level_line shows the result.
-- band: 1, 2, ... upwards in context (from 101 for batches that mix requests of unequal length); a new band starts where the next window's
-- context is more than twice the previous one's plus 512 tokens: no line is fitted across such a gap.
-- Method (the same as speclog.analysis.line, a test says so): Theil-Sen through the medians of at most 16 context bins (split as ntile
-- does); windows whose residual is farther than 5 * 1.4826 * MAD + 0.1 % of the median round from the median residual are trimmed; least
-- squares on the rest. Without spread of context the slope is 0. tau is the mean over all windows of the part, trimmed or not: every window
-- has as many rounds. context_min, context_max: contexts the windows cover (middle -+ half a window). n_fit: windows the line rests on.
CREATE OR REPLACE MACRO level_line_of(source) AS TABLE
WITH ranked AS MATERIALIZED (
    SELECT
        run_id, batch_size, eager, mixed, line_no, context, half_span, round_ms, tau,
        row_number() OVER part AS place,
        context > 2 * lag(context) OVER part + 512 AS jumps
    FROM query_table(source)
    WHERE excluded IS NULL AND context IS NOT NULL
    WINDOW part AS (PARTITION BY run_id, batch_size, eager, mixed ORDER BY context, source_index, line_no)
),
first_place AS (
    SELECT run_id, batch_size, eager, mixed, place FROM ranked WHERE place = 1 OR jumps
),
level_size AS (
    SELECT run_id, batch_size, eager, mixed, count(*) AS n FROM ranked GROUP BY run_id, batch_size, eager, mixed
),
band AS (
    SELECT
        run_id, batch_size, eager, mixed, place AS first_place,
        CAST(100 * CAST(mixed AS INTEGER) + row_number() OVER level AS INTEGER) AS band,
        lead(place, 1, n + 1) OVER level - place AS n
    FROM first_place JOIN level_size USING (run_id, batch_size, eager, mixed)
    WINDOW level AS (PARTITION BY run_id, batch_size, eager, mixed ORDER BY place)
),
binned AS MATERIALIZED (
    SELECT
        w.run_id, w.batch_size, w.eager, w.mixed, b.band, w.line_no, w.context, w.half_span, w.round_ms, w.tau,
        -- As ntile(16) within the band: the first n % 16 bins hold one window more than the others.
        CASE
            WHEN w.place - b.first_place < (b.n % 16) * (b.n // 16 + 1)
                THEN (w.place - b.first_place) // (b.n // 16 + 1)
            ELSE b.n % 16 + (w.place - b.first_place - (b.n % 16) * (b.n // 16 + 1)) // greatest(b.n // 16, 1)
        END AS bin
    FROM ranked AS w
    JOIN band AS b
        ON w.run_id = b.run_id AND w.batch_size = b.batch_size AND w.eager = b.eager AND w.mixed = b.mixed
        AND w.place >= b.first_place AND w.place < b.first_place + b.n
),
point AS (
    SELECT run_id, batch_size, eager, band, bin, median(context) AS x, median(round_ms) AS y
    FROM binned GROUP BY run_id, batch_size, eager, band, bin
),
slope AS (
    SELECT p.run_id, p.batch_size, p.eager, p.band, median((q.y - p.y) / (q.x - p.x)) FILTER (q.x > p.x) AS c
    FROM point AS p JOIN point AS q USING (run_id, batch_size, eager, band)
    GROUP BY p.run_id, p.batch_size, p.eager, p.band
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

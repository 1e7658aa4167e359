-- switch-off: between which batch sizes a candidate's speedup passes 1 against each baseline, by point estimates.
-- With intervals, and with batch sizes that the baseline never ran: speclog whatif CANDIDATE --vs BASELINE --ask concurrency.
SELECT
    candidate_name, baseline_name, verdict, before AS from_batch_size, batch_size AS to_batch_size,
    CASE WHEN speedup > 1 THEN 'starts paying' ELSE 'stops paying' END AS change,
    before_speedup AS from_speedup, speedup AS to_speedup
FROM (
    SELECT
        *, lag(batch_size) OVER size AS before, lag(speedup) OVER size AS before_speedup
    FROM break_even
    WHERE speedup IS NOT NULL
    WINDOW size AS (PARTITION BY candidate, baseline ORDER BY batch_size)
)
WHERE (speedup > 1) <> (before_speedup > 1)
ORDER BY candidate_name, baseline_name, from_batch_size;

-- clean_window: the clean windows of each level, in bands of context. Grain: (run_id, source_index, line_no).
-- Inputs: level_window. band: 1, 2, ... upwards in context; a new band starts where the next window's context is more than
-- twice the previous one's plus 512 tokens (a 4096-token prompt among 128-token ones): no line is fitted across such a gap.
-- Batches that mix requests of unequal length have bands of their own, from 101 upwards.
CREATE OR REPLACE VIEW clean_window AS
WITH step AS (
    SELECT
        *,
        lag(context) OVER (
            PARTITION BY run_id, batch_size, eager, mixed ORDER BY context, source_index, line_no
        ) AS below
    FROM level_window
    WHERE excluded IS NULL
)
SELECT
    * EXCLUDE (below),
    CAST(1 + 100 * CAST(mixed AS INTEGER) + sum(CASE WHEN context > 2 * below + 512 THEN 1 ELSE 0 END) OVER (
        PARTITION BY run_id, batch_size, eager, mixed ORDER BY context, source_index, line_no
        ROWS UNBOUNDED PRECEDING
    ) AS INTEGER) AS band
FROM step;

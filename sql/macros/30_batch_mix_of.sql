-- batch_mix_of(reading): are the requests of a batch equally long? Grain: (ingest_id, source_index, line_no) of decode lines with two or
-- more running requests. Inputs: the runs of a relation like run_reading, raw_decode_window, raw_prefill_batch. View batch_mix: all runs.
-- A batch counts as equal where it filled up from empty without a decode line in between, by prefills whose mean prompts (new and
-- cached tokens over sequences) lie within 10 % of each other; else it is mixed. #token / b is then only the mean of its contexts, while
-- attention waits for the longest: at b = 8 on an H200 a mixed round took 4 % more than an equal one at the same mean.
-- Running counts are sums of CASE: with FILTER, DuckDB counts every window anew, which is quadratic in a run's lines.
-- Caveats: what one prefill line mixes cannot be seen (it counts as equal); without any prefill line a batch counts as mixed.
CREATE OR REPLACE MACRO batch_mix_of(reading) AS TABLE
WITH line AS (
    SELECT i.run_id, i.ingest_id, d.source_index, d.line_no, d.dp_rank, d.pp_rank, d.running_req, NULL AS prompt
    FROM raw_decode_window AS d JOIN query_table(reading) AS i ON d.run_id = i.run_id AND d.ingest_id = i.ingest_id
    UNION ALL
    SELECT
        i.run_id, i.ingest_id, p.source_index, p.line_no, p.dp_rank, p.pp_rank, p.running_req,
        (coalesce(p.new_token, 0) + coalesce(p.cached_token, 0)) / greatest(p.new_seq, 1) AS prompt
    FROM raw_prefill_batch AS p JOIN query_table(reading) AS i ON p.run_id = i.run_id AND p.ingest_id = i.ingest_id
),
numbered AS (
    SELECT
        *,
        sum(CASE WHEN prompt IS NOT NULL AND coalesce(running_req, 0) = 0 THEN 1 ELSE 0 END) OVER (
            PARTITION BY run_id, source_index, dp_rank, pp_rank ORDER BY line_no
        ) AS fill
    FROM line
)
SELECT
    run_id, ingest_id, source_index, line_no,
    fill = 0
    OR max(prompt) OVER since > 1.1 * min(prompt) OVER since
    OR max(CASE WHEN prompt IS NOT NULL THEN line_no END) OVER since
        > min(CASE WHEN prompt IS NULL THEN line_no END) OVER since AS mixed
FROM numbered
WINDOW since AS (PARTITION BY run_id, source_index, dp_rank, pp_rank, fill ORDER BY line_no)
QUALIFY prompt IS NULL AND running_req > 1;

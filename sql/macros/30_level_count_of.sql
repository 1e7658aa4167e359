-- level_count_of(source): counts and medians of each level of a relation like level_window, without its line.
-- Grain: (run_id, batch_size). Everything but n_windows and dp_ranks is over the clean windows; tok_s is one rank's median times the
-- data-parallel ranks. View level_count shows the result.
CREATE OR REPLACE MACRO level_count_of(source) AS TABLE
SELECT
    run_id,
    any_value(run) AS run,
    batch_size,
    count(*) AS n_windows,
    count(DISTINCT coalesce(dp_rank, 0)) AS dp_ranks,
    count(*) FILTER (excluded IS NULL) AS n_clean,
    avg(tau) FILTER (excluded IS NULL) AS tau,
    median(round_ms) FILTER (excluded IS NULL) AS round_ms,
    mad(round_ms) FILTER (excluded IS NULL) AS round_mad_ms,
    median(gen_tok_s) FILTER (excluded IS NULL) * count(DISTINCT coalesce(dp_rank, 0)) AS tok_s,
    count(*) FILTER (excluded IS NULL AND eager) AS graph_off,
    count(*) FILTER (excluded IS NULL AND queue_req > 0) AS queueing,
    min(line_no) FILTER (excluded IS NULL) AS first_line,
    max(line_no) FILTER (excluded IS NULL) AS last_line
FROM query_table(source)
GROUP BY run_id, batch_size;

-- bench_result: client-side benchmark results beside a run's log. Grain: (run_id, source, line_no).
-- Inputs: raw_bench_result, current_ingest, rank_level. Caveat: figures named in doubts contradict each other, or what the server printed:
-- an accept length that none of its batch sizes comes near (15 %), a mean throughput above that of its decode windows at the client's own
-- concurrency (25 %, of a server of one rank: a mean with its prefills cannot be above them). Then it is another server's result.
CREATE OR REPLACE VIEW bench_result AS
WITH printed AS (
    SELECT
        run_id, batch_size, sum(accept_sum) / nullif(sum(accept_n), 0) AS tau, sum(n) AS n,
        CASE WHEN count(*) = 1 AND min(n_steady) >= 4 THEN min(tok_s) END AS tok_s
    FROM rank_level WHERE run_id IN (SELECT run_id FROM raw_bench_result)
    GROUP BY run_id, batch_size
),
server AS (
    SELECT run_id, min(tau) AS low, max(tau) AS high FROM printed WHERE tau IS NOT NULL GROUP BY run_id HAVING sum(n) >= 5
)
SELECT b.* EXCLUDE (ingest_id) REPLACE (
    coalesce(b.doubts, [])
    || CASE WHEN b.accept_len > 1.15 * s.high OR b.accept_len < 0.85 * s.low
        THEN [format('accept length {:.4g} is not what the log prints, {:.4g} to {:.4g}', b.accept_len, s.low, s.high)]
        ELSE [] END
    || CASE WHEN b.output_tok_s > 1.25 * p.tok_s
        THEN [format(
            'output throughput {:.4g} tok/s is above the {:.4g} tok/s that the log prints at batch size {}', b.output_tok_s, p.tok_s, p.batch_size
        )]
        ELSE [] END
    AS doubts
)
FROM raw_bench_result AS b
JOIN current_ingest AS i USING (ingest_id)
LEFT JOIN server AS s ON s.run_id = b.run_id
LEFT JOIN printed AS p ON p.run_id = b.run_id AND p.batch_size = b.max_concurrency;

-- bench_result: client-side benchmark results beside a run's log. Grain: (run_id, source, line_no).
-- Inputs: raw_bench_result, current_ingest. Caveat: figures named in doubts contradict each other.
CREATE OR REPLACE VIEW bench_result AS
SELECT b.* EXCLUDE (ingest_id) FROM raw_bench_result AS b JOIN current_ingest AS i USING (ingest_id);

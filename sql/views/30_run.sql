-- run: one row a run. Grain: run_id. Inputs: raw_run, current_ingest, run_reading, server_arg, annotation.
-- speculative, rounds_per_window: see run_reading. adaptive: the server changes its draft steps between rounds, so that its arguments only
-- say how it begins: steps and draft_tokens are NULL then. Of rows written while a log was followed the last counts: of two with one
-- last_line the one that knows how the run ended.
CREATE OR REPLACE VIEW run AS
WITH arg AS (
    SELECT
        run_id,
        max(value) FILTER (name = 'model_path') AS model_path,
        max(value) FILTER (name = 'speculative_algorithm') AS algorithm,
        max(value) FILTER (name = 'speculative_num_steps') AS steps,
        max(value) FILTER (name = 'speculative_eagle_topk') AS topk,
        max(value) FILTER (name = 'speculative_num_draft_tokens') AS draft_tokens,
        coalesce(max(value) FILTER (name = 'speculative_adaptive') = 'true', false) AS adaptive,
        max(value) FILTER (name = 'tp_size') AS tp_size,
        max(value) FILTER (name = 'dp_size') AS dp_size,
        max(value) FILTER (name = 'pp_size') AS pp_size
    FROM server_arg GROUP BY run_id
),
tag AS (
    SELECT run_id, max(value) FILTER (key = 'tag') AS tag, max(value) FILTER (key = 'note') AS note
    FROM annotation GROUP BY run_id
)
SELECT
    r.run_id,
    r.name,
    t.tag,
    r.engine,
    r.version,
    r.version_min,
    r.version_max,
    r.version_source,
    CASE WHEN a.model_path = 'null' THEN NULL ELSE trim(a.model_path, '"') END AS model,
    p.speculative,
    CASE WHEN a.algorithm = 'null' THEN NULL ELSE trim(a.algorithm, '"') END AS algorithm,
    coalesce(a.adaptive AND p.speculative, false) AS adaptive,
    CASE WHEN NOT a.adaptive THEN TRY_CAST(a.steps AS INTEGER) END AS steps,
    TRY_CAST(a.topk AS INTEGER) AS topk,
    CASE WHEN NOT a.adaptive THEN TRY_CAST(a.draft_tokens AS INTEGER) END AS draft_tokens,
    TRY_CAST(a.tp_size AS INTEGER) AS tp_size,
    TRY_CAST(a.dp_size AS INTEGER) AS dp_size,
    TRY_CAST(a.pp_size AS INTEGER) AS pp_size,
    p.rounds_per_window,
    r.served,
    r.end_reason,
    r.synthetic,
    r.started_at,
    r.ready_at,
    r.ended_at,
    r.utc_offset_s,
    p.n_windows AS windows,
    r.profile,
    r.overlays,
    r.arm,
    r.repeat,
    r.argv,
    r.host_hash,
    r.git_commit,
    r.manifest_line,
    r.server_args_line,
    t.note,
    i.source,
    i.first_line,
    i.last_line,
    i.lines,
    i.unknown_lines,
    i.ingest_id,
    i.ingested_at
FROM (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY run_id, ingest_id ORDER BY last_line DESC NULLS LAST, end_reason = 'open', ended_at NULLS LAST
        ) AS place
    FROM raw_run
) AS r
JOIN current_ingest AS i USING (run_id, ingest_id)
LEFT JOIN arg AS a ON a.run_id = r.run_id
JOIN run_reading AS p ON p.run_id = r.run_id
LEFT JOIN tag AS t ON t.run_id = r.run_id
WHERE r.place = 1;

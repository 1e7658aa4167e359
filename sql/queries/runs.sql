-- What is in the store: one short row a run.
SELECT
    run_id[:8] AS id,
    coalesce(tag || ': ' || name, name) AS run,
    CASE engine WHEN 'sglang' THEN '' ELSE engine || ' ' END || coalesce(version, version_min || '-' || version_max, '?') AS version,
    CASE
        WHEN speculative THEN coalesce(algorithm, 'speculative') || ' '
            || CASE WHEN adaptive THEN 'adaptive' ELSE coalesce(steps::VARCHAR, '?') || '/' || coalesce(draft_tokens::VARCHAR, '?') END
        WHEN speculative IS NULL THEN '?'
        ELSE 'plain'
    END AS speculation,
    windows,
    CASE WHEN NOT served THEN 'never served' ELSE end_reason END AS state,
    started_at AS started
FROM run
ORDER BY started_at NULLS LAST, name, run_id;

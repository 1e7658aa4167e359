-- configuration: runs grouped by all that could change their speed, so that verdicts are worked out once a pair of configurations.
-- Grain: run_id. configuration: md5 over the sorted name=value of every known factor that is not noise. Inputs: factor_norm, run.
CREATE OR REPLACE VIEW configuration AS
SELECT
    r.run_id,
    r.speculative,
    coalesce(r.version, r.version_max) AS version,
    md5(coalesce(string_agg(f.name || '=' || f.norm, chr(10) ORDER BY f.name), '') || coalesce(CAST(r.speculative AS VARCHAR), '?')
        || coalesce(r.version, r.version_max, '?')) AS configuration
FROM run AS r LEFT JOIN factor_norm AS f ON f.run_id = r.run_id AND f.class <> 'noise'
GROUP BY r.run_id, r.speculative, r.version, r.version_max;

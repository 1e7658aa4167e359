-- Where a speculative round's time goes, by run and batch size (EAGLE3_PROFILE).
SELECT run.name AS run, phase.batch_size, phase.phase, phase.ms, phase.share_pct, phase.windows
FROM phase JOIN run USING (run_id)
ORDER BY run.name, phase.batch_size, phase.ms DESC, phase.phase, run.run_id;

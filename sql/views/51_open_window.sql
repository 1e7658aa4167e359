-- open_window: level_window of the runs that have no summary. Grain: (run_id, source_index, line_no). Inputs: open_run, level_window_of.
CREATE OR REPLACE VIEW open_window AS
SELECT * FROM level_window_of('open_run');

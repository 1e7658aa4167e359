-- level_window: the decode windows that count once. Grain: (run_id, source_index, line_no). Inputs, columns, caveats: level_window_of.
CREATE OR REPLACE VIEW level_window AS
SELECT * FROM level_window_of('run_reading');

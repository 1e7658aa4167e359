-- decode_window: one row a decode line with its round time, context and whether it is clean. Grain: (run_id, source_index, line_no).
-- Inputs, formulas and columns: decode_window_of. excluded: why a window is not clean, NULL when it is.
CREATE OR REPLACE VIEW decode_window AS
SELECT * FROM decode_window_of('run_reading');

-- raw_level_line: what level_line_of found for a run, kept. Grain: (summary_id, batch_size, eager, band).
-- Inputs: level_line_of over the run's windows.
CREATE TABLE IF NOT EXISTS raw_level_line (
    summary_id VARCHAR NOT NULL,
    ingest_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    batch_size INTEGER NOT NULL,
    eager BOOLEAN NOT NULL,
    band INTEGER NOT NULL,
    mixed BOOLEAN,
    n BIGINT,
    n_fit BIGINT,
    tau DOUBLE,
    round_ms DOUBLE,
    context_min DOUBLE,
    context_max DOUBLE,
    fit_a_ms DOUBLE,
    fit_c_ms_per_token DOUBLE,
    first_line BIGINT,
    last_line BIGINT
);

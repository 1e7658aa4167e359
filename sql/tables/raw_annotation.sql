-- raw_annotation: what a person vouches for about a run. Grain: (run_id, key, annotated_at); the newest wins.
-- key: 'env.NAME', 'env' ('NAME=value ...' or 'complete': all other scanned prefixes unset), 'arg.NAME', 'fact.NAME', 'tag', 'note'.
CREATE TABLE IF NOT EXISTS raw_annotation (
    run_id VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    value VARCHAR,                    -- NULL: vouched to be unset; '': withdrawn
    author VARCHAR,
    annotated_at TIMESTAMP NOT NULL
);

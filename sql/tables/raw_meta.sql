-- raw_meta: facts about the store itself. Grain: (key, set_at); the newest wins. key 'schema_version' guards against old readers.
CREATE TABLE IF NOT EXISTS raw_meta (
    key VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    set_at TIMESTAMP NOT NULL
);

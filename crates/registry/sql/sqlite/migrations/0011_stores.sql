-- Which store each name of the settings stands for: the id that lies in the store itself.
CREATE TABLE stores (
    name        TEXT PRIMARY KEY,
    store_id    BLOB NOT NULL,
    recorded_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Files of objects' logs/ that have still to be put into a store: written before the file is, removed when it lies there.
CREATE TABLE missed_logs (
    store       TEXT NOT NULL,
    object_id   BLOB NOT NULL REFERENCES objects (id),
    name        TEXT NOT NULL,
    generation  BLOB NOT NULL,
    institution TEXT NOT NULL,
    bytes       BLOB NOT NULL,
    missed_at   INTEGER NOT NULL,
    PRIMARY KEY (store, object_id, name)
) STRICT, WITHOUT ROWID;

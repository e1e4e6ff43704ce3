-- Which store each name of the settings stands for: the id that lies in the store itself.
CREATE TABLE stores (
    name        TEXT COLLATE "C" PRIMARY KEY,
    store_id    UUID NOT NULL,
    recorded_at BIGINT NOT NULL
);

-- Files of objects' logs/ that have still to be put into a store: written before the file is, removed when it lies there.
CREATE TABLE missed_logs (
    store       TEXT COLLATE "C" NOT NULL,
    object_id   UUID NOT NULL REFERENCES objects (id),
    name        TEXT COLLATE "C" NOT NULL,
    generation  UUID NOT NULL,
    institution TEXT COLLATE "C" NOT NULL,
    bytes       BYTEA NOT NULL,
    missed_at   BIGINT NOT NULL,
    PRIMARY KEY (store, object_id, name)
);

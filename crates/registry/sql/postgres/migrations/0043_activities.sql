-- Runs of agents over lists of record ids, and the pipelines that they are steps of.
CREATE TABLE pipelines (
    id             UUID PRIMARY KEY,
    -- None for one of the installation.
    institution_id UUID REFERENCES institutions (id),
    name           TEXT COLLATE "C" NOT NULL,
    -- A JSON list of steps, in their order.
    steps          TEXT NOT NULL,
    -- How often it was run.
    runs           BIGINT NOT NULL DEFAULT 0,
    actor_id       UUID NOT NULL REFERENCES actors (id),
    made_at        BIGINT NOT NULL,
    changed_at     BIGINT NOT NULL
);
CREATE UNIQUE INDEX pipelines_by_name ON pipelines (institution_id, name) WHERE institution_id IS NOT NULL;
CREATE UNIQUE INDEX pipelines_of_installation ON pipelines (name) WHERE institution_id IS NULL;

CREATE TABLE activities (
    id                UUID PRIMARY KEY,
    agent             TEXT COLLATE "C" NOT NULL,
    -- A JSON object, which the agent understands.
    options           TEXT NOT NULL,
    -- None for one of the installation.
    institution_id    UUID REFERENCES institutions (id),
    -- On whose behalf.
    actor_id          UUID NOT NULL REFERENCES actors (id),
    state             TEXT COLLATE "C" NOT NULL CHECK (state IN ('queued', 'populating', 'running', 'paused', 'finished',
        'finished_with_errors', 'failed', 'cancelled')),
    -- From 1; each run has a list of its own.
    run               BIGINT NOT NULL DEFAULT 1,
    -- The list of this run. Not a reference: a list may be lost or removed, and the activity stays.
    list_id           UUID NOT NULL,
    -- The list of the run before, where this run takes its records.
    previous_list_id  UUID,
    -- Whether the list was lost and is populated from provenance.
    is_rebuilding     BOOLEAN NOT NULL DEFAULT FALSE,
    input             TEXT COLLATE "C" NOT NULL CHECK (input IN ('source', 'snapshot', 'follow')),
    -- The activity, and its list, whose processed records are the input.
    input_activity_id UUID REFERENCES activities (id),
    input_list_id     UUID,
    takes_results     BOOLEAN NOT NULL DEFAULT FALSE,
    -- What the next run of the same begins behind: as it was when this one was made, and as this one leaves it.
    watermark         TEXT COLLATE "C",
    watermark_from    TEXT,
    watermark_to      TEXT,
    -- The pipeline, which run of it, and which step, from 1.
    pipeline_id       UUID REFERENCES pipelines (id),
    pipeline_run      BIGINT,
    step              BIGINT,
    made_at           BIGINT NOT NULL,
    started_at        BIGINT,
    ended_at          BIGINT,
    changed_at        BIGINT NOT NULL,
    error             TEXT
);
CREATE INDEX activities_by_institution ON activities (institution_id, id);
CREATE INDEX activities_by_state ON activities (state, id);
CREATE INDEX activities_by_input ON activities (input_activity_id, id) WHERE input_activity_id IS NOT NULL;
CREATE INDEX activities_by_pipeline ON activities (pipeline_id, pipeline_run, step) WHERE pipeline_id IS NOT NULL;
CREATE UNIQUE INDEX activities_by_list ON activities (list_id);

-- How far the runs of the same have come: everything before a watermark was taken by a run that ended well.
CREATE TABLE watermarks (
    -- Follows from institution and name.
    id             UUID PRIMARY KEY,
    institution_id UUID REFERENCES institutions (id),
    name           TEXT COLLATE "C" NOT NULL,
    value          TEXT NOT NULL,
    activity_id    UUID NOT NULL REFERENCES activities (id),
    set_at         BIGINT NOT NULL
);

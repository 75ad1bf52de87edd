-- The first schema. Times are milliseconds since the Unix epoch; facts, snapshots and lists are JSON that no
-- statement looks into. What a later version adds is a new file beside this one, never a change here.

CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value ANY  NOT NULL
) STRICT, WITHOUT ROWID;

-- A journal is a stream: a task's, whose id it bears.
CREATE TABLE events (
    stream TEXT    NOT NULL,
    seq    INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    by     TEXT    NOT NULL,
    run    TEXT,
    v      INTEGER NOT NULL,
    kind   INTEGER NOT NULL,
    fact   BLOB    NOT NULL,
    PRIMARY KEY (stream, seq)
) STRICT, WITHOUT ROWID;

-- Who may see a task, and which agent does it: few rows, named by many tasks.
CREATE TABLE owners (
    id    INTEGER NOT NULL PRIMARY KEY,
    scope TEXT    NOT NULL,
    agent TEXT    NOT NULL,
    UNIQUE (scope, agent)
) STRICT;

CREATE TABLE tasks (
    id         TEXT    NOT NULL PRIMARY KEY,
    owner      INTEGER NOT NULL,
    context    TEXT    NOT NULL,
    requester  TEXT    NOT NULL,
    state      INTEGER NOT NULL,
    status_at  INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    opened_at  INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    epoch      INTEGER NOT NULL,
    born       INTEGER NOT NULL,
    not_before INTEGER,
    snapshot   INTEGER
) STRICT, WITHOUT ROWID;

-- Lists, the queue, recovery and retention all walk this one; the id follows of itself. Lists read it backwards: what
-- comes later stands at the end of its run, where adding fills pages instead of splitting them.
CREATE INDEX tasks_order ON tasks (owner, state, status_at);
CREATE INDEX tasks_context ON tasks (context);

-- Apart from the task, whose row is rewritten with every commit.
CREATE TABLE snapshots (
    id      INTEGER NOT NULL PRIMARY KEY,
    seq     INTEGER NOT NULL,
    history INTEGER NOT NULL,
    json    BLOB    NOT NULL
) STRICT;

-- How many tasks an owner has in a state: kept in the transaction that changes it.
CREATE TABLE totals (
    owner INTEGER NOT NULL,
    state INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (owner, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE sends (
    principal TEXT    NOT NULL,
    agent     TEXT    NOT NULL,
    key       TEXT    NOT NULL,
    digest    BLOB    NOT NULL,
    stream    TEXT    NOT NULL,
    seq       INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (principal, agent, key, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    agent     TEXT NOT NULL,
    principal TEXT NOT NULL,
    context   TEXT NOT NULL,
    session   TEXT NOT NULL,
    PRIMARY KEY (context, principal, agent)
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
    hash       BLOB    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    role       TEXT    NOT NULL,
    agents     TEXT,
    shown      TEXT    NOT NULL,
    made_at    INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    used_at    INTEGER
) STRICT, WITHOUT ROWID;

-- Times are microseconds since 1970 in UTC. `tenant` is the small integer of `tenants`, so that it can lead every
-- index and every term. `entries` holds the newest version at each address; a tombstone keeps its row without content.
-- `vectors.behind` is the entry that a vector saw beside its own. The token vectors of an entry lie in parts of a quarter
-- of a page, so that pages get full, under ids from 256 times the entry's on.

-- name: create_tables
CREATE TABLE tenants (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    rows INTEGER NOT NULL DEFAULT 0,
    words INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    volk TEXT NOT NULL,
    user TEXT NOT NULL,
    key TEXT NOT NULL,
    uid TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    live INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    session TEXT NOT NULL,
    task TEXT NOT NULL,
    project TEXT NOT NULL,
    portfolio TEXT NOT NULL,
    crew TEXT NOT NULL,
    class TEXT NOT NULL,
    type TEXT NOT NULL,
    category TEXT NOT NULL,
    source TEXT NOT NULL,
    pinned INTEGER NOT NULL,
    superseded INTEGER NOT NULL,
    turn INTEGER,
    created_at INTEGER NOT NULL,
    occurred_at INTEGER,
    expires_at INTEGER,
    valid_from INTEGER NOT NULL,
    valid_to INTEGER,
    words INTEGER NOT NULL,
    content_hash INTEGER,
    model TEXT,
    access_count INTEGER NOT NULL,
    last_accessed_at INTEGER NOT NULL,
    working_session TEXT,
    working_until INTEGER,
    body BLOB,
    checksum BLOB,
    UNIQUE (tenant, volk, user, key)
);
CREATE INDEX entries_by_time ON entries (tenant, created_at);
CREATE INDEX entries_by_session ON entries (tenant, session, created_at);
CREATE INDEX entries_by_task ON entries (tenant, task, created_at);
CREATE INDEX entries_by_turn ON entries (tenant, session, turn) WHERE turn IS NOT NULL;
CREATE INDEX entries_by_expiry ON entries (expires_at) WHERE expires_at IS NOT NULL AND live;
CREATE INDEX entries_by_working ON entries (tenant, working_session) WHERE working_session IS NOT NULL;
CREATE INDEX entries_by_deadline ON entries (working_until) WHERE working_until IS NOT NULL;
CREATE INDEX entries_buried ON entries (changed_at) WHERE NOT live;
CREATE TABLE versions (
    entry_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    valid_to INTEGER NOT NULL,
    model TEXT,
    access_count INTEGER NOT NULL,
    last_accessed_at INTEGER NOT NULL,
    body BLOB NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (entry_id, version)
) WITHOUT ROWID;
CREATE TABLE tags (
    tenant INTEGER NOT NULL,
    tag TEXT NOT NULL,
    entry_id INTEGER NOT NULL,
    PRIMARY KEY (tenant, tag, entry_id)
) WITHOUT ROWID;
CREATE INDEX tags_by_entry ON tags (entry_id);
CREATE TABLE vectors (
    entry_id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    version INTEGER NOT NULL,
    model TEXT NOT NULL,
    input_hash BLOB,
    behind INTEGER,
    vector BLOB
);
CREATE UNIQUE INDEX vectors_by_seq ON vectors (tenant, seq);
CREATE INDEX vectors_by_input ON vectors (tenant, model, input_hash) WHERE vector IS NOT NULL;
CREATE INDEX vectors_by_behind ON vectors (behind) WHERE behind IS NOT NULL;
CREATE TABLE token_parts (id INTEGER PRIMARY KEY, part BLOB NOT NULL);
CREATE TABLE embedding_cache (
    tenant INTEGER NOT NULL,
    model TEXT NOT NULL,
    input_hash BLOB NOT NULL,
    used_at INTEGER NOT NULL,
    vector BLOB NOT NULL,
    tokens BLOB NOT NULL,
    PRIMARY KEY (tenant, model, input_hash)
);
CREATE INDEX embedding_cache_by_use ON embedding_cache (used_at);
CREATE TABLE edges (
    tenant INTEGER NOT NULL,
    source TEXT NOT NULL,
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (tenant, source, kind, target)
) WITHOUT ROWID;
CREATE INDEX edges_by_target ON edges (tenant, target, kind);
CREATE TABLE sessions (
    tenant INTEGER NOT NULL,
    session TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    closed_at INTEGER,
    PRIMARY KEY (tenant, session)
) WITHOUT ROWID;
CREATE TABLE outbox (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, time INTEGER NOT NULL, event TEXT NOT NULL);
CREATE INDEX outbox_by_time ON outbox (time);
CREATE TABLE audit (
    tenant INTEGER NOT NULL,
    kind TEXT NOT NULL,
    seq INTEGER NOT NULL,
    prev_hash TEXT NOT NULL,
    entry_hash TEXT NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (tenant, kind, seq)
) WITHOUT ROWID;
CREATE TABLE idempotency (
    tenant INTEGER NOT NULL,
    key TEXT NOT NULL,
    body_hash TEXT NOT NULL,
    result TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);
CREATE TABLE jobs (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    tenant TEXT NOT NULL,
    payload TEXT NOT NULL,
    tries INTEGER NOT NULL,
    due_at INTEGER
);
CREATE INDEX jobs_by_kind ON jobs (kind, due_at);

-- name: create_word_index
CREATE VIRTUAL TABLE word_index USING fts5 (
    terms, content = '', columnsize = 0, detail = none, tokenize = "ascii tokenchars ':marks'"
);
CREATE VIRTUAL TABLE word_counts USING fts5vocab (word_index, 'row');

-- name: expect_sizes
-- What the planner is to expect: rows, then rows for each further column of an index that is given. Without it every
-- index that begins with the tenant looks alike; measured figures would make plans differ between files.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('tenants', NULL, '10'),
    ('entries', 'sqlite_autoindex_entries_1', '100000 1'),
    ('entries', 'sqlite_autoindex_entries_2', '100000 10000 2000 1000 1'),
    ('entries', 'entries_by_time', '100000 9000 1'),
    ('entries', 'entries_by_session', '100000 10000 100 1'),
    ('entries', 'entries_by_task', '100000 10000 500 1'),
    ('entries', 'entries_by_turn', '50000 5000 100 2'),
    ('entries', 'entries_by_expiry', '1000 1'),
    ('entries', 'entries_by_working', '1000 100 10'),
    ('entries', 'entries_by_deadline', '1000 1'),
    ('entries', 'entries_buried', '1000 1'),
    ('versions', 'versions', '50000 2 1'),
    ('tags', 'tags', '200000 20000 200 1'),
    ('tags', 'tags_by_entry', '200000 2 2 1'),
    ('vectors', 'vectors_by_seq', '100000 10000 1'),
    ('vectors', 'vectors_by_input', '100000 10000 10000 1'),
    ('vectors', 'vectors_by_behind', '100000 1'),
    ('edges', 'edges', '50000 5000 2 2 1'),
    ('edges', 'edges_by_target', '50000 5000 2 2 1');

-- name: tenant_id
SELECT id FROM tenants WHERE name = ?;

-- name: add_tenant
INSERT INTO tenants (name) VALUES (?) RETURNING id;

-- name: count_words
UPDATE tenants SET rows = rows + ?, words = words + ? WHERE id = ?;

-- name: at_address
SELECT id, version, live, model, access_count, last_accessed_at, body, checksum
FROM entries WHERE tenant = ? AND volk = ? AND user = ? AND key = ?;

-- name: put_entry
INSERT INTO entries (
    tenant, volk, user, key, uid, version, live, changed_at, session, task, project, portfolio, crew, class, type,
    category, source, pinned, superseded, turn, created_at, occurred_at, expires_at, valid_from, valid_to, words,
    content_hash, model, access_count, last_accessed_at, body, checksum
) VALUES (
    :tenant, :volk, :user, :key, :uid, :version, 1, :changed_at, :session, :task, :project, :portfolio, :crew, :class,
    :type, :category, :source, :pinned, :superseded, :turn, :created_at, :occurred_at, :expires_at, :valid_from,
    :valid_to, :words, :content_hash, :model, :access_count, :last_accessed_at, :body, :checksum
)
ON CONFLICT (tenant, volk, user, key) DO UPDATE SET
    version = excluded.version, live = 1, changed_at = excluded.changed_at, session = excluded.session,
    task = excluded.task, project = excluded.project, portfolio = excluded.portfolio, crew = excluded.crew,
    class = excluded.class, type = excluded.type, category = excluded.category, source = excluded.source,
    pinned = excluded.pinned, superseded = excluded.superseded, turn = excluded.turn,
    created_at = excluded.created_at, occurred_at = excluded.occurred_at, expires_at = excluded.expires_at,
    valid_from = excluded.valid_from, valid_to = excluded.valid_to, words = excluded.words,
    content_hash = excluded.content_hash, model = excluded.model, access_count = excluded.access_count,
    last_accessed_at = excluded.last_accessed_at, body = excluded.body, checksum = excluded.checksum
RETURNING id;

-- name: archive
INSERT OR REPLACE INTO versions (
    entry_id, version, valid_from, valid_to, model, access_count, last_accessed_at, body, checksum
)
SELECT id, version, valid_from, coalesce(valid_to, ?), model, access_count, last_accessed_at, body, checksum
FROM entries WHERE id = ?;

-- name: bury
UPDATE entries SET
    version = ?, changed_at = ?, live = 0, category = '', source = '', turn = NULL, occurred_at = NULL,
    expires_at = NULL, valid_to = NULL, words = 0, content_hash = NULL, model = NULL, working_session = NULL,
    working_until = NULL, body = NULL, checksum = NULL
WHERE id = ?;

-- name: bury_unseen
INSERT INTO entries (
    tenant, volk, user, key, uid, version, live, changed_at, session, task, project, portfolio, crew, class, type,
    category, source, pinned, superseded, created_at, valid_from, words, access_count, last_accessed_at
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, '', '', '', '', '', '', '', '', '', 0, 0, ?7, ?7, 0, 0, ?7);

-- name: index_words
INSERT INTO word_index (rowid, terms) VALUES (?, ?);

-- name: unindex_words
INSERT INTO word_index (word_index, rowid, terms) VALUES ('delete', ?, ?);

-- name: add_tag
INSERT OR IGNORE INTO tags (tenant, tag, entry_id) VALUES (?, ?, ?);

-- name: drop_tags
DELETE FROM tags WHERE entry_id = ?;

-- name: put_vector
INSERT INTO vectors (entry_id, tenant, seq, version, model, input_hash, behind, vector)
VALUES (?1, ?2, (SELECT coalesce(max(seq), 0) + 1 FROM vectors WHERE tenant = ?2), ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (entry_id) DO UPDATE SET
    tenant = excluded.tenant, seq = excluded.seq, version = excluded.version, model = excluded.model,
    input_hash = excluded.input_hash, behind = excluded.behind, vector = excluded.vector;

-- name: made_behind
SELECT entry_id FROM vectors WHERE behind = ?;

-- name: drop_vector
UPDATE vectors SET
    seq = (SELECT max(v.seq) + 1 FROM vectors v WHERE v.tenant = vectors.tenant), input_hash = NULL, behind = NULL,
    vector = NULL
WHERE entry_id = ? AND vector IS NOT NULL;

-- name: put_tokens
INSERT INTO token_parts (id, part) VALUES (?, ?);

-- name: drop_tokens
DELETE FROM token_parts WHERE id BETWEEN ?1 * 256 AND ?1 * 256 + 255;

-- name: tokens
SELECT part FROM token_parts WHERE id BETWEEN ?1 * 256 AND ?1 * 256 + 255 ORDER BY id;

-- name: tokens_at
SELECT j.key, p.part
FROM json_each(?2) j CROSS JOIN entries e
ON e.tenant = ?1 AND e.volk = j.value ->> 0 AND e.user = j.value ->> 1 AND e.key = j.value ->> 2 AND e.model = ?3
CROSS JOIN token_parts p ON p.id BETWEEN e.id * 256 AND e.id * 256 + 255 ORDER BY j.key, p.id;

-- name: vector_size
SELECT length(vector) / 2 FROM vectors WHERE tenant = ? AND model = ? AND vector IS NOT NULL LIMIT 1;

-- name: set_model
UPDATE entries SET model = ? WHERE id = ?;

-- name: vectors_since
SELECT seq, entry_id, model, vector FROM vectors WHERE tenant = ? AND seq > ? ORDER BY seq;

-- name: vectors_of
SELECT v.entry_id, v.vector FROM vectors v WHERE v.entry_id IN (SELECT value FROM json_each(?)) AND v.vector IS NOT NULL;

-- name: known_vector
SELECT entry_id, vector FROM vectors WHERE tenant = ? AND model = ? AND input_hash = ? AND vector IS NOT NULL LIMIT 1;

-- name: cached_vector
SELECT vector, tokens FROM embedding_cache WHERE tenant = ? AND model = ? AND input_hash = ?;

-- name: keep_vector
INSERT INTO embedding_cache (tenant, model, input_hash, used_at, vector, tokens) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, model, input_hash) DO UPDATE SET
    used_at = excluded.used_at, vector = excluded.vector, tokens = excluded.tokens;

-- name: uncache_vector
DELETE FROM embedding_cache WHERE rowid = (
    SELECT c.rowid FROM vectors v JOIN embedding_cache c
    ON c.tenant = v.tenant AND c.model = v.model AND c.input_hash = v.input_hash WHERE v.entry_id = ?
);

-- name: vector_used
UPDATE embedding_cache SET used_at = ? WHERE tenant = ? AND model = ? AND input_hash = ?;

-- name: forget_vectors
DELETE FROM embedding_cache WHERE rowid IN (
    SELECT rowid FROM embedding_cache ORDER BY used_at LIMIT max(0, (SELECT count(*) FROM embedding_cache) - ?)
);

-- name: add_edge
INSERT OR IGNORE INTO edges (tenant, source, kind, target) VALUES (?, ?, ?, ?);

-- name: drop_edges
DELETE FROM edges WHERE tenant = ?1 AND (source = ?2 OR target = ?2);

-- name: unshare
DELETE FROM edges WHERE tenant = ? AND source = ? AND kind = 'SHARED_WITH';

-- name: edges_of
SELECT source, kind, target FROM edges WHERE tenant = ?1 AND source IN (SELECT value FROM json_each(?2))
UNION
SELECT source, kind, target FROM edges WHERE tenant = ?1 AND target IN (SELECT value FROM json_each(?2))
ORDER BY 1, 2, 3;

-- name: shared_with
SELECT x.source FROM tenants t JOIN edges x ON x.tenant = t.id
WHERE t.name = ? AND x.target = ? AND x.kind = 'SHARED_WITH';

-- name: touch
UPDATE entries SET access_count = access_count + ?, last_accessed_at = max(last_accessed_at, ?)
WHERE tenant = ? AND volk = ? AND user = ? AND key = ? AND live;

-- name: mark_working
UPDATE entries SET working_session = ?, working_until = ?
WHERE tenant = ? AND volk = ? AND user = ? AND key = ? AND live;

-- name: unmark_working
UPDATE entries SET working_session = NULL, working_until = NULL
WHERE tenant = ? AND volk = ? AND user = ? AND key = ? AND working_session = ?;

-- name: put_session
INSERT INTO sessions (tenant, session, opened_at, closed_at) VALUES (?, ?, ?, ?)
ON CONFLICT (tenant, session) DO UPDATE SET
    opened_at = min(opened_at, excluded.opened_at), closed_at = excluded.closed_at;

-- name: session
SELECT opened_at, closed_at FROM sessions WHERE tenant = ? AND session = ?;

-- name: add_event
INSERT INTO outbox (id, time, event) VALUES (?, ?, ?);

-- name: delivered
DELETE FROM outbox WHERE id = ?;

-- name: outbox
SELECT event FROM outbox WHERE time < ? ORDER BY time, seq LIMIT ?;

-- name: outbox_depth
SELECT count(*), min(time) FROM outbox;

-- name: audit_head
SELECT seq, entry_hash FROM audit WHERE tenant = ? AND kind = ? ORDER BY seq DESC LIMIT 1;

-- name: add_audit
INSERT INTO audit (tenant, kind, seq, prev_hash, entry_hash, record) VALUES (?, ?, ?, ?, ?, ?);

-- name: audit_rows
SELECT seq, prev_hash, entry_hash, record FROM audit WHERE tenant = ? AND kind = ? AND seq > ? ORDER BY seq LIMIT ?;

-- name: idempotent
SELECT body_hash, result, expires_at FROM idempotency WHERE tenant = ? AND key = ? AND expires_at > ?;

-- name: put_idempotency
INSERT INTO idempotency (tenant, key, body_hash, result, expires_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant, key) DO UPDATE SET
    body_hash = excluded.body_hash, result = excluded.result, expires_at = excluded.expires_at;

-- name: put_job
INSERT INTO jobs (id, kind, tenant, payload, tries, due_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
    kind = excluded.kind, tenant = excluded.tenant, payload = excluded.payload, tries = excluded.tries,
    due_at = excluded.due_at;

-- name: job_done
DELETE FROM jobs WHERE id = ?;

-- name: jobs
SELECT id, kind, tenant, payload, tries, due_at FROM jobs
WHERE kind = ? AND (due_at IS NULL OR due_at <= ?) ORDER BY due_at, seq LIMIT ?;

-- name: job_count
SELECT count(*) FROM jobs WHERE kind = ?1 AND (?2 IS NULL OR tenant = ?2);

-- name: working
SELECT volk, user, key FROM entries WHERE tenant = ? AND working_session = ? ORDER BY volk, user, key;

-- name: marks_overdue
SELECT t.name, e.volk, e.user, e.key, e.working_session, e.working_until
FROM entries e JOIN tenants t ON t.id = e.tenant
WHERE e.working_until IS NOT NULL AND e.working_until <= ? ORDER BY e.working_until LIMIT ?;

-- name: tombstones
SELECT volk, user, key, version, changed_at FROM entries
WHERE tenant = ? AND NOT live AND (volk, user, key) > (?, ?, ?) ORDER BY volk, user, key LIMIT ?;

-- name: purge_versions
DELETE FROM versions WHERE entry_id IN (SELECT id FROM entries WHERE NOT live AND changed_at < ?);

-- name: purge_idempotency
DELETE FROM idempotency WHERE expires_at <= ?;

-- name: tenants
SELECT name FROM tenants WHERE rows > 0 ORDER BY name;

-- name: tenant_stats
SELECT rows, words FROM tenants WHERE id = ?;

-- name: term_counts
SELECT c.term, c.doc FROM json_each(?) j CROSS JOIN word_counts c ON c.term = j.value;

-- name: heads
SELECT e.volk, e.user, e.key, e.version, e.live
FROM json_each(?2) j CROSS JOIN entries e
ON e.tenant = ?1 AND e.volk = j.value ->> 0 AND e.user = j.value ->> 1 AND e.key = j.value ->> 2;

-- name: ids_at
SELECT e.id FROM json_each(?2) j CROSS JOIN entries e
ON e.tenant = ?1 AND e.volk = j.value ->> 0 AND e.user = j.value ->> 1 AND e.key = j.value ->> 2;

-- name: kept_versions
SELECT t.name, e.volk, e.user, e.key, v.version, v.model, v.access_count, v.last_accessed_at, v.body, v.checksum,
    v.valid_to
FROM tenants t JOIN entries e ON e.tenant = t.id JOIN versions v ON v.entry_id = e.id
WHERE t.name = ? AND e.volk = ? AND e.user = ? AND e.key = ? ORDER BY v.version DESC;

-- name: stood_then
-- The newest version of each entry that was valid at the moment, unless its current one was.
SELECT t.name, e.volk, e.user, e.key, v.version, v.model, v.access_count, v.last_accessed_at, v.body, v.checksum,
    v.valid_to
FROM tenants t CROSS JOIN entries e ON e.tenant = t.id
CROSS JOIN versions v ON v.entry_id = e.id AND v.valid_from <= :moment AND v.valid_to > :moment
WHERE t.name = :tenant AND (:volk IS NULL OR e.volk = :volk) AND (:user IS NULL OR e.user = :user)
AND NOT (e.live AND e.valid_from <= :moment AND (e.valid_to IS NULL OR e.valid_to > :moment))
AND NOT EXISTS (
    SELECT 1 FROM versions n
    WHERE n.entry_id = e.id AND n.version > v.version AND n.valid_from <= :moment AND n.valid_to > :moment
);

-- name: drop_versions
DELETE FROM versions WHERE entry_id = ?;

-- name: drop_entry
DELETE FROM entries WHERE id = ?;

-- name: to_drop
SELECT e.tenant, e.uid, t.name, e.volk, e.user, e.key, e.version, e.model, e.access_count, e.last_accessed_at, e.body,
    e.checksum
FROM entries e JOIN tenants t ON t.id = e.tenant WHERE e.id = ?;

-- name: vectors_at
SELECT e.volk, e.user, e.key, v.vector
FROM json_each(?2) j CROSS JOIN entries e
ON e.tenant = ?1 AND e.volk = j.value ->> 0 AND e.user = j.value ->> 1 AND e.key = j.value ->> 2 AND e.live
CROSS JOIN vectors v ON v.entry_id = e.id AND v.model = ?3 AND length(v.vector) = ?4;

-- The statements below have places in braces for columns and conditions, which are built of constants of ours.

-- name: select
SELECT {columns} FROM tenants t CROSS JOIN entries e WHERE {clause} {tail};

-- name: by_ids
SELECT {columns} FROM json_each(?) j CROSS JOIN entries e ON e.id = j.value
JOIN tenants t ON t.id = e.tenant WHERE {clause};

-- name: expired
SELECT {columns} FROM entries e JOIN tenants t ON t.id = e.tenant
WHERE e.live AND e.expires_at IS NOT NULL AND e.expires_at <= ? ORDER BY e.expires_at, e.id LIMIT ?;

-- name: same_group
SELECT DISTINCT o.uid FROM tenants t CROSS JOIN json_each(?) j CROSS JOIN entries e ON e.uid = j.value
CROSS JOIN entries o ON o.tenant = t.id AND o.{column} = e.{column} AND o.{column} <> '' AND o.live
WHERE t.name = ? AND e.tenant = t.id;

-- name: ranked
-- The first parameter maps each quoted term to its weight.
WITH hits AS MATERIALIZED (
    SELECT w.rowid AS id, sum(j.value) AS weight
    FROM json_each(?) j CROSS JOIN word_index w WHERE w.word_index MATCH j.key GROUP BY w.rowid
)
SELECT e.id, hits.weight * ? / (? + ? * e.words) AS score, e.content_hash IS ? AS equal
FROM hits CROSS JOIN entries e ON e.id = hits.id CROSS JOIN tenants t ON t.id = e.tenant
WHERE {clause} ORDER BY equal DESC, score DESC, e.created_at DESC, e.volk, e.user, e.key LIMIT ?;

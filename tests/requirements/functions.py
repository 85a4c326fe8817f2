"""Functions, qualities, errors, events, audit, injection, sessions, governance, erasure, reliability and the wire."""

from tests.requirements.entry import Requirement

ROWS = (
    Requirement(
        "FR-001", "seven verbs and the additions; the seed's calls work unchanged", "engine", deferred_to="cognition"
    ),
    Requirement(
        "FR-002", "store checks, writes in one transaction, returns when durable and findable by words", "engine"
    ),
    Requirement("FR-003", "retrieve notes access off the hot path and never gives wrong content", "engine"),
    Requirement("FR-004", "search in three modes with a floor on similarity that says what it hid", "engine,retrieval"),
    Requirement("FR-004.1", "query text is data, bounded in size, and not blank", "engine,providers"),
    Requirement(
        "FR-004.2", "profile balanced: scaled words and meaning, bounded boosts, every factor named", "retrieval"
    ),
    Requirement("FR-004.3", "profiles composite, fusion and priority follow the seeds' formulas", "retrieval"),
    Requirement("FR-004.4", "every profile stays in range and never falls when a part rises", "retrieval"),
    Requirement("FR-005", "summarise by relevance, recency, importance or all, by extraction", "context"),
    Requirement("FR-005.1", "a stored summary is linked to its sources and never shown beside them", "engine,context"),
    Requirement("FR-005.2", "long entries get a short summary in the background", "engine,context"),
    Requirement(
        "FR-006",
        "hot storage: session lifetimes, and no change of any answer when it is gone",
        "providers.redis",
        deferred_to="tiers",
    ),
    Requirement(
        "FR-007",
        "cold storage: a graph of nodes; a volatile store cannot take the role unasked",
        "providers.neo4j,tiers",
        deferred_to="tiers",
    ),
    Requirement(
        "FR-008", "nothing leaves the hot tier before the cold one has confirmed it", "tiers", deferred_to="tiers"
    ),
    Requirement(
        "FR-009", "embedding by configuration; without an embedder writes go on and vectors follow", "embedders,engine"
    ),
    Requirement(
        "FR-010",
        "exact cosine below the limit; long texts score by their best part",
        "vectors,retrieval",
        deferred_to="retrieval",
    ),
    Requirement("FR-011", "a counter counts and truncates by six laws", "tokens"),
    Requirement("FR-011.1", "encodings, factors and fallbacks of the counters", "tokens"),
    Requirement("FR-012", "explicit first, then value for tokens, never above the ceiling", "context"),
    Requirement(
        "FR-013", "one decision function, and denial when it cannot decide", "policy", deferred_to="governance"
    ),
    Requirement(
        "FR-014", "classes change only by owners who may store in the new one", "policy", deferred_to="governance"
    ),
    Requirement("FR-015", "age lowers a rank by half-lives and deletes nothing", "retrieval"),
    Requirement("FR-016", "an update touches what is given, makes a version, and forgets stale derivations", "engine"),
    Requirement("FR-016.1", "an expected version guards an update; unknown keys are errors", "engine"),
    Requirement("FR-017", "limits refuse and name field, limit and size", "engine,types"),
    Requirement(
        "FR-017.1", "unusable characters and numbers are refused; content is kept byte for byte", "engine,types"
    ),
    Requirement("FR-018", "a deleted memory is gone from every read and kept for its owner's history", "engine"),
    Requirement("FR-019", "`as_of` answers what held at that time", "engine,providers"),
    Requirement("FR-019.1", "sessions open with their first memory, close, and open again", "engine"),
    Requirement("FR-020", "after its expiry an entry is in no read, and a sweep buries it", "engine"),
    Requirement("FR-021", "a repeated request gives its first answer; another body is a conflict", "engine"),
    Requirement("NFR-001", "hot latencies at the reference load", "benchmarks", deferred_to="tiers"),
    Requirement("NFR-002", "cold latencies at 100 000 entries", "benchmarks", deferred_to="tiers"),
    Requirement("NFR-002b", "latencies of summaries", "benchmarks", deferred_to="retrieval"),
    Requirement("NFR-003", "throughput, and refusal instead of endless queues", "engine", deferred_to="tiers"),
    Requirement(
        "NFR-004",
        "what is acknowledged survives what the durability in force promises",
        "providers,tiers",
        deferred_to="tiers",
    ),
    Requirement("NFR-005", "with a part down the rest goes on, and says so", "engine,tiers", deferred_to="tiers"),
    Requirement("NFR-006", "capacity, quotas and bytes a memory", "engine", deferred_to="governance"),
    Requirement(
        "NFR-007", "checked, audited, tenant-bound, and silent about content", "engine", deferred_to="encryption"
    ),
    Requirement(
        "NFR-008", "no socket, no download, no model service; quick to import", "mnemic", deferred_to="service"
    ),
    Requirement("NFR-009", "the same seed, clock and ids give the same state and order", "engine"),
    Requirement(
        "ERR-001", "each error is reachable and maps alike on every entry point", "errors", deferred_to="service"
    ),
    Requirement("EVT-001", "events have one envelope and no content", "events"),
    Requirement("EVT-002", "events follow the commit, in order, to their own tenant", "events,engine"),
    Requirement(
        "EVT-003", "subscribers name patterns; inside a kernel its bus is used", "events", deferred_to="integrations"
    ),
    Requirement("EVT-010", "each operation of the seed announces its completion", "engine"),
    Requirement(
        "EVT-011",
        "a failed migration says which keys failed and whether it will try again",
        "tiers",
        deferred_to="tiers",
    ),
    Requirement("EVT-012", "budget and denial give warnings", "engine"),
    Requirement("EVT-013", "our further operations announce their completion", "engine", deferred_to="cognition"),
    Requirement("EVT-014", "the third seed's domain events exist, without content", "engine", deferred_to="cognition"),
    Requirement(
        "EVT-015",
        "conflicts, quotas, decryption, extraction and dead letters give warnings",
        "engine",
        deferred_to="governance",
    ),
    Requirement("EVT-016", "each stage of the pipeline is an event", "orchestrator", deferred_to="orchestrator"),
    Requirement("AUD-001", "an audit row tells who did what with which result, and no content", "audit"),
    Requirement("AUD-002", "rows are chained so that every edit, loss or reorder is found", "audit,chain"),
    Requirement("AUD-003", "rows commit with their effect; processes never fork the chain", "audit"),
    Requirement(
        "AUD-004", "anchors outside the log reveal a cut tail and a full rewrite", "audit", deferred_to="governance"
    ),
    Requirement("AUD-004.1", "the read chain is cut at an anchor after its days", "audit", deferred_to="governance"),
    Requirement("AUD-005", "audit rows can be queried by those who may", "audit", deferred_to="governance"),
    Requirement("AUD-006", "verification and exports of the log", "audit", deferred_to="governance"),
    Requirement("AUD-007", "speed of appending, verifying and querying", "audit", deferred_to="governance"),
    Requirement(
        "CXP-001",
        "the packet's memory context has exactly the agreed names",
        "integrations",
        deferred_to="integrations",
    ),
    Requirement(
        "CXP-002",
        "keys only of what may be read; nothing relevant, nothing injected",
        "integrations",
        deferred_to="integrations",
    ),
    Requirement("CXP-003", "a packet can name the memories it needs", "integrations", deferred_to="integrations"),
    Requirement(
        "INJ-001", "the kernel hook runs between governance and execution", "integrations", deferred_to="integrations"
    ),
    Requirement("INJ-002", "what the search found is what gets summarised", "integrations", deferred_to="integrations"),
    Requirement(
        "INJ-003", "injection has a switch, a budget and a strategy", "integrations", deferred_to="integrations"
    ),
    Requirement("INJ-004", "injection has a deadline", "integrations", deferred_to="integrations"),
    Requirement("INJ-005", "explicit, then strategy, then recency, then address", "context"),
    Requirement("INJ-006", "the ceiling counts fence and headers; nothing is cut within a sentence", "context"),
    Requirement("INJ-007", "one fence, short references, escaped brackets, equal bytes for equal input", "context"),
    Requirement(
        "INJ-008",
        "injections are audited, and recalled text is not learned again",
        "integrations",
        deferred_to="integrations",
    ),
    Requirement("SES-001", "the end of a session, by event or call, starts its move", "engine"),
    Requirement("SES-002", "each entry is written, confirmed and only then taken away", "tiers", deferred_to="tiers"),
    Requirement("SES-003", "the move returns how many left the working state; a second one returns 0", "engine,tiers"),
    Requirement("SES-004", "a repeated move makes no duplicate", "tiers", deferred_to="tiers"),
    Requirement("SES-005", "one failing entry stops no other", "tiers", deferred_to="tiers"),
    Requirement(
        "SES-006", "with the cold tier down nothing leaves, and tries are spaced", "tiers", deferred_to="tiers"
    ),
    Requirement("SES-007", "after ten tries an entry is a visible dead letter", "tiers", deferred_to="tiers"),
    Requirement("SES-008", "one mover a session; late writes go to the long term", "tiers", deferred_to="tiers"),
    Requirement("SES-009", "the newer version and the tombstone win during a move", "tiers", deferred_to="tiers"),
    Requirement("SES-010", "a move keeps owner and class and needs a member of the session", "engine,policy"),
    Requirement("SES-011", "a failing observer undoes nothing", "tiers", deferred_to="tiers"),
    Requirement("GOV-001", "the facts that rules may use", "policy", deferred_to="governance"),
    Requirement("GOV-002", "who may store in which class", "policy"),
    Requirement("GOV-003", "who may read", "policy", deferred_to="governance"),
    Requirement("GOV-004", "shared reaches project and crew", "policy"),
    Requirement("GOV-005", "who may share", "policy", deferred_to="governance"),
    Requirement("GOV-006", "who may take a share back, at once", "policy", deferred_to="governance"),
    Requirement("GOV-007", "who may update", "policy", deferred_to="governance"),
    Requirement("GOV-008", "who may change the class", "policy", deferred_to="governance"),
    Requirement("GOV-009", "only the owner deletes", "policy"),
    Requirement("GOV-010", "who may erase, without reading", "policy", deferred_to="governance"),
    Requirement("GOV-011", "who may delegate", "policy", deferred_to="governance"),
    Requirement(
        "GOV-012", "delegation is narrower at each hop and ends below a revoked one", "policy", deferred_to="governance"
    ),
    Requirement("GOV-013", "results that touch several entries follow the strictest", "policy"),
    Requirement("GOV-014", "only the engine itself moves, sweeps and merges", "policy", deferred_to="governance"),
    Requirement(
        "GOV-015",
        "roles come from configuration or token, never from a request",
        "policy,config",
        deferred_to="governance",
    ),
    Requirement("GOV-016", "a decision names its rule; the readable set equals single decisions", "policy"),
    Requirement(
        "GOV-017", "Prolog is asked with fixed goals and a time limit", "policy.prolog", deferred_to="governance"
    ),
    Requirement("GOV-018", "a denial looks like absence and is recorded", "policy,engine"),
    Requirement(
        "GOV-019", "untrusted origins never act alone and can be rolled back", "policy", deferred_to="governance"
    ),
    Requirement("GOV-020", "reading in bulk has a budget", "policy", deferred_to="governance"),
    Requirement("ERA-001", "erasing leaves no byte of the memory anywhere", "engine", deferred_to="erasure"),
    Requirement(
        "ERA-002", "erasing follows what was derived, and a backup brings nothing back", "engine", deferred_to="erasure"
    ),
    Requirement(
        "ERA-003",
        "an erasure can be tried, gives a receipt, and is never called done too early",
        "engine",
        deferred_to="erasure",
    ),
    Requirement("REL-001", "a kill loses no acknowledged write", "providers.sqlite"),
    Requirement("REL-002", "a power cut loses no acknowledged write in the default mode", "providers.sqlite"),
    Requirement("REL-003", "each fault gives a typed error and no half entry", "engine", deferred_to="tiers"),
    Requirement("REL-004", "migration happens once in every interleaving", "tiers", deferred_to="tiers"),
    Requirement("REL-005", "processes on one file lose and double nothing", "providers.sqlite"),
    Requirement("REL-006", "ten repeats with one idempotency key are one write", "engine"),
    Requirement("REL-007", "hostile names never reach another tenant on any surface", "engine", deferred_to="service"),
    Requirement("REL-008", "bit rot is noticed, never returned as content", "providers.sqlite"),
    Requirement("REL-009", "hostile inputs cost little on every entry point", "engine", deferred_to="service"),
    Requirement("REL-010", "servers are closed unless opened on purpose", "http", deferred_to="service"),
    Requirement("REL-011", "upgrades and exports keep the state", "providers", deferred_to="release"),
    Requirement("REL-012", "a degradation is visible in four places", "engine,cli", deferred_to="tiers"),
    Requirement("REL-013", "memory and descriptors stay flat", "engine", deferred_to="release"),
    Requirement("WIR-001", "routes of the HTTP service", "http", deferred_to="service"),
    Requirement("WIR-002", "methods of JSON-RPC", "http", deferred_to="service"),
    Requirement("WIR-003", "tools of the MCP server", "mcp", deferred_to="service"),
    Requirement("WIR-004", "headers, versions and cursors on the wire", "http", deferred_to="service"),
    Requirement("WIR-005", "every operation is equal on every entry point", "http,mcp,cli,sync", deferred_to="service"),
)

"""The first seed's 55 requirements and its user stories."""

from tests.requirements.entry import Requirement

ROWS = (
    Requirement("REQ-010-001", "the engine's interface is abstract in the seven verbs and in health", "ports,engine"),
    Requirement(
        "REQ-010-002",
        "a container resolves the one engine, starts parts in order and stops them in reverse",
        "component",
    ),
    Requirement(
        "REQ-010-003",
        "initialise, start and stop are idempotent; calls outside are refused; stop loses nothing",
        "engine",
    ),
    Requirement("REQ-010-004", "entries with the seed's fields are frozen and survive every provider", "types"),
    Requirement("REQ-010-005", "the seed's seven filters select exactly what an oracle selects", "types,providers"),
    Requirement("REQ-010-006", "`store` accepts every combination of key, tags, metadata and class", "engine"),
    Requirement("REQ-010-007", "a missing key becomes a random UUID; a known key becomes a new version", "engine"),
    Requirement("REQ-010-008", "stored text can soon be found by meaning, at once by its writer", "engine,embedders"),
    Requirement("REQ-010-009", "the first tier holds the entry when `store` returns", "tiers"),
    Requirement(
        "REQ-010-010", "the cold tier is written behind, once, also after an outage", "tiers", deferred_to="tiers"
    ),
    Requirement("REQ-010-011", "`retrieve` gives the entry or None; absent and denied look alike", "engine"),
    Requirement("REQ-010-012", "`retrieve_by` finds all or any of some tags, in either case, page by page", "engine"),
    Requirement("REQ-010-013", "`retrieve_by` finds the entries of a session, a task or both", "engine"),
    Requirement("REQ-010-014", "a hit carries its time, its owner and its score", "engine,types"),
    Requirement("REQ-010-015", "search by meaning finds a paraphrase that shares no word", "retrieval"),
    Requirement("REQ-010-016", "hybrid search finds identifiers as well as paraphrases", "retrieval"),
    Requirement(
        "REQ-010-017", "each scope filter gives what a store of only those entries would give", "retrieval,providers"
    ),
    Requirement(
        "REQ-010-018", "scores fall with rank, follow the profile's formula, and ties have one order", "retrieval"
    ),
    Requirement("REQ-010-019", "ten hits unless told; a limit out of range is refused", "engine"),
    Requirement("REQ-010-020", "`summarize` has defaults, a lower bound and an empty answer", "engine,context"),
    Requirement("REQ-010-021", "a summary chooses what answers its query", "context"),
    Requirement("REQ-010-022", "a summary never exceeds its budget, whatever the strategy", "context"),
    Requirement("REQ-010-023", "each section of a summary names sources that the caller may read", "context"),
    Requirement(
        "REQ-010-024",
        "confirmed hot entries expire with the session, unconfirmed ones never",
        "providers.redis",
        deferred_to="tiers",
    ),
    Requirement("REQ-010-025", "a hot entry is one hash in its session's slot", "providers.redis", deferred_to="tiers"),
    Requirement(
        "REQ-010-026",
        "subscribers get each committed change once and in order, also through Redis",
        "events",
        deferred_to="tiers",
    ),
    Requirement("REQ-010-027", "hot vectors lie beside their hashes", "providers.redis", deferred_to="tiers"),
    Requirement(
        "REQ-010-028", "long-term memories are nodes, one for each address", "providers.neo4j", deferred_to="tiers"
    ),
    Requirement(
        "REQ-010-029",
        "nodes are joined to session, agent, task and project exactly once",
        "providers.neo4j",
        deferred_to="tiers",
    ),
    Requirement("REQ-010-030", "date ranges include both ends and mean the same in every time zone", "providers"),
    Requirement(
        "REQ-010-031",
        "`related` follows each kind of edge, ends on cycles and stops at what is unreadable",
        "engine,providers",
    ),
    Requirement("REQ-010-032", "the end of a session moves its working memory into the long term", "engine,tiers"),
    Requirement(
        "REQ-010-033", "a good match from the long term becomes working memory again", "tiers", deferred_to="tiers"
    ),
    Requirement(
        "REQ-010-034",
        "expired working memory is never read and leaves no index entry behind",
        "tiers",
        deferred_to="tiers",
    ),
    Requirement("REQ-010-035", "from a summary every original can be reached", "engine"),
    Requirement(
        "REQ-010-036", "the packaged MiniLM agrees with the original, alone and in a batch, offline", "embedders.minilm"
    ),
    Requirement("REQ-010-037", "the same input is embedded once, also across a restart", "embedders.cached"),
    Requirement(
        "REQ-010-038",
        "another model is a matter of configuration; vectors of two models never meet",
        "engine,embedders",
    ),
    Requirement("REQ-010-039", "similarity is the cosine, never below zero", "vectors,providers"),
    Requirement(
        "REQ-010-040", "above the exact limit an index keeps its recall under every filter", "vectors,providers"
    ),
    Requirement(
        "REQ-010-041", "counters: exact for OpenAI's encodings, marked estimates for others, all offline", "tokens"
    ),
    Requirement("REQ-010-042", "injected text stays within the budget by the active counter", "context"),
    Requirement("REQ-010-043", "named and pinned memories outlive similar ones, and those outlive new ones", "context"),
    Requirement("REQ-010-044", "the remaining budget is returned and can be recounted", "context"),
    Requirement(
        "REQ-010-045",
        "one decision function answers for every operation, as its table says",
        "policy",
        deferred_to="governance",
    ),
    Requirement(
        "REQ-010-046", "rules asked in Prolog decide as the built-in ones do", "policy.prolog", deferred_to="governance"
    ),
    Requirement("REQ-010-047", "each call leaves one audit row; a write's row commits with its effect", "audit,engine"),
    Requirement("REQ-010-048", "delegation reaches three hops and no further", "policy", deferred_to="governance"),
    Requirement("REQ-010-049", "the three classes hold on every reading path", "policy,engine"),
    Requirement(
        "REQ-010-050",
        "a change of class is recorded, and narrowing takes shares away at once",
        "engine,policy",
        deferred_to="governance",
    ),
    Requirement("REQ-010-051", "hot store within 10 ms at the 95th percentile", "benchmarks", deferred_to="tiers"),
    Requirement("REQ-010-052", "hot retrieve within 5 ms at the 95th percentile", "benchmarks", deferred_to="tiers"),
    Requirement("REQ-010-053", "hot search within 50 ms at the 95th percentile", "benchmarks", deferred_to="tiers"),
    Requirement("REQ-010-054", "cold retrieve within 50 ms at the 95th percentile", "benchmarks", deferred_to="tiers"),
    Requirement("REQ-010-055", "cold search within 200 ms at the 95th percentile", "benchmarks", deferred_to="tiers"),
    Requirement("US-001", "working memory: an agent keeps notes within a session", "engine", deferred_to="tiers"),
    Requirement("US-001.1", "storing returns the entry with key, times, owner and session", "engine"),
    Requirement("US-001.2", "the same session gets it back by key, also after a restart", "engine"),
    Requirement("US-001.3", "tags and task find it", "engine"),
    Requirement("US-001.4", "nobody else gets it unless told", "engine,policy"),
    Requirement("US-001.5", "it is as fast as working memory must be", "benchmarks", deferred_to="tiers"),
    Requirement("US-001.6", "after its time it has left the working set and is kept in the long term", "engine,tiers"),
    Requirement(
        "US-002", "cross-session memory: an agent finds what it learned earlier", "engine,tiers", deferred_to="tiers"
    ),
    Requirement("US-002.1", "a later session of the same owner finds the entry without its key", "engine"),
    Requirement(
        "US-002.2", "a search without session spans both tiers with one hit a memory", "tiers", deferred_to="tiers"
    ),
    Requirement("US-002.3", "a long-term hit becomes working memory", "tiers", deferred_to="tiers"),
    Requirement("US-002.4", "a range of dates selects", "engine"),
    Requirement("US-002.5", "a week without the cold tier loses nothing", "tiers", deferred_to="tiers"),
    Requirement(
        "US-003", "context window: memory goes into a prompt within its budget", "context", deferred_to="integrations"
    ),
    Requirement("US-003.1", "injected text never exceeds the budget", "context"),
    Requirement("US-003.2", "the packet carries every agreed field", "integrations", deferred_to="integrations"),
    Requirement(
        "US-003.3", "no budget or no injection means no key and no call", "integrations", deferred_to="integrations"
    ),
    Requirement(
        "US-003.4",
        "without a working engine the agent runs without memory, and says so",
        "integrations",
        deferred_to="integrations",
    ),
    Requirement("US-003.5", "explicit goes before similar, similar before recent", "context"),
    Requirement("US-003.6", "memory stands in a fence as data", "context"),
    Requirement("US-004", "semantic search: meaning, names and codes are found", "retrieval"),
    Requirement("US-004.1", "a paraphrase is found", "retrieval"),
    Requirement("US-004.2", "exact ids, codes and names are found", "retrieval"),
    Requirement("US-004.3", "mean precision among ten exceeds 0.8 on our labelled set", "retrieval"),
    Requirement("US-004.4", "nothing out of scope is found", "retrieval"),
    Requirement("US-004.5", "the same question at the same time gives the same order", "retrieval"),
    Requirement("US-005", "summaries: a context in few tokens, with its sources", "context", deferred_to="retrieval"),
    Requirement("US-005.1", "within the budget", "context"),
    Requirement("US-005.2", "all sources are named", "context"),
    Requirement("US-005.3", "originals stay and are linked", "engine"),
    Requirement("US-005.4", "an empty context gives an empty summary", "context"),
    Requirement(
        "US-005.5",
        "no model is needed, and a failing one is replaced by extraction",
        "context,llm",
        deferred_to="retrieval",
    ),
    Requirement("US-005.6", "its class is the strictest among its sources", "context"),
    Requirement("US-006", "team memory: agents share what they choose to", "policy", deferred_to="governance"),
    Requirement("US-006.1", "the team reads shared entries and never private ones", "policy"),
    Requirement("US-006.2", "shared and system entries need a role", "policy"),
    Requirement(
        "US-006.3", "sharing with a named agent and taking it back work at once", "policy", deferred_to="governance"
    ),
    Requirement("US-006.4", "each denial is an event and an audit row", "policy,audit"),
    Requirement("US-006.5", "own and shared hits rank together, owners named", "retrieval", deferred_to="governance"),
)

"""What must hold of identities, values, the engine's methods, configuration and this project itself."""

from tests.requirements.entry import Requirement

ROWS = (
    Requirement("ID-001", "who acts is a frozen value without None; an empty part matches nothing", "types"),
    Requirement(
        "ID-002", "what is asked for is a filter; each field set can only narrow the result", "types,providers"
    ),
    Requirement(
        "ID-003", "the engine fills in the caller's tenant; providers refuse a scope without one", "engine,providers"
    ),
    Requirement("ID-004", "tenant, agent, user and key together are unique, and nothing less is", "types,providers"),
    Requirement(
        "ID-004.1", "one agent serves many users; nobody sees another user's private memories", "policy,engine"
    ),
    Requirement("ID-005", "ids are compared byte by byte and never joined without a length or an encoding", "types"),
    Requirement("ID-006", "strict mode refuses a request that lacks tenant, user or client", "config,engine"),
    Requirement("ID-007", "strictness is read from either variable; a contradiction means strict", "config"),
    Requirement("ID-008", "the tenant `public` has the same walls as every other", "engine,providers"),
    Requirement(
        "ID-009",
        "`agent_id` is accepted for `volk_id`; header, token and body must agree",
        "http,cli",
        deferred_to="service",
    ),
    Requirement("ID-010", "`acting_as` binds the same engine to somebody else and shares every resource", "engine"),
    Requirement("ID-011", "every storage query names its tenant first; word statistics are per tenant", "providers"),
    Requirement("TYP-001", "an entry has the seed's fields", "types"),
    Requirement("TYP-002", "an entry knows its place: tenant, user, task, project, portfolio, crew, writer", "types"),
    Requirement("TYP-003", "an entry knows its kind and worth, and its turn in a conversation", "types"),
    Requirement("TYP-004", "an entry knows its versions, times, sources and successors", "types"),
    Requirement("TYP-005", "a hit is an entry with its score, the parts of it, its channels and its rank", "types"),
    Requirement("TYP-006", "the list of hits says what was degraded, filtered, skipped and pending", "types"),
    Requirement("TYP-007", "a summary counts its tokens and names the source of each section", "types"),
    Requirement("TYP-008", "a context block's used and remaining tokens add up to its budget", "types,context"),
    Requirement("TYP-009", "a page has items and an opaque cursor bound to query and caller", "types,engine"),
    Requirement("TYP-010", "three classes: private, shared, system", "types"),
    Requirement("TYP-011", "four strategies of summarising", "types"),
    Requirement("TYP-012", "five memory types, in either spelling at the edges", "types"),
    Requirement("TYP-013", "origins carry a trust from 4 for the system to 0 for the web", "types"),
    Requirement(
        "TYP-014", "health names each part, the degradations, durability, identity mode and outbox", "types,engine"
    ),
    Requirement("TYP-015", "every field survives every provider; a vector keeps its direction", "types,providers"),
    Requirement("ENG-001", "`store` takes kind, speaker, turn, worth, times, sources, vector and guards", "engine"),
    Requirement("ENG-002", "`retrieve` takes owner, version and time; an ambiguous key is a conflict", "engine"),
    Requirement("ENG-003", "`search` takes mode, profile, filter, time and the caller's clock", "engine"),
    Requirement(
        "ENG-004", "`summarize` takes query, keys and storing; tasks and projects are contexts too", "engine,context"
    ),
    Requirement("ENG-005", "`update` and `delete` take an expected version; `update` also worth and time", "engine"),
    Requirement("ENG-006", "`retrieve_by` pages by tag and filter, newest first; `count` counts a scope", "engine"),
    Requirement(
        "ENG-007",
        "`remember` stores through cognition; `analyze` shows it and writes nothing",
        "cognition",
        deferred_to="cognition",
    ),
    Requirement("ENG-008", "`context` gives a block ready for a prompt", "engine,context"),
    Requirement(
        "ENG-009",
        "sharing, revoking, delegating and reclassifying are methods of the engine",
        "engine,policy",
        deferred_to="governance",
    ),
    Requirement("ENG-010", "`related`, `link`, `history` and `promote` walk, draw, look back and warm up", "engine"),
    Requirement(
        "ENG-011",
        "`feedback`, `consolidate` and `undo` work outside a pipeline",
        "engine,cognition",
        deferred_to="cognition",
    ),
    Requirement(
        "ENG-012", "erase, export, import, backup and verify are methods of the engine", "engine", deferred_to="erasure"
    ),
    Requirement(
        "ENG-013",
        "`store_document` splits at sentence ends; search returns the document",
        "engine,retrieval",
        deferred_to="retrieval",
    ),
    Requirement(
        "ENG-014", "every entry point goes through the same methods in the same order", "engine", deferred_to="service"
    ),
    Requirement("ENG-015", "`mnemic.sync` has the same names and works where a loop already runs", "sync"),
    Requirement("ENG-016", "a batch answers item by item; repeated chat messages add nothing", "engine"),
    Requirement(
        "ENG-017", "`flush` waits for all that is owed; a new process takes over what a killed one left", "engine"
    ),
    Requirement("ENG-018", "`forget` deletes in bulk only with the count of a dry run", "engine"),
    Requirement(
        "CFG-001", "one YAML section and one prefix of variables; errors name the key, secrets never show", "config"
    ),
    Requirement("CFG-002", "every documented key exists with its documented default", "config", deferred_to="release"),
    Requirement("CHK-001", "each of the seed's twelve test families has a marker, and tests that carry it", "tests"),
    Requirement(
        "CHK-002", "a release states evidence for each of the seed's eleven principles", "docs", deferred_to="release"
    ),
    Requirement("CHK-003", "the page of requirements is generated from this manifest", "tests"),
    Requirement("CHK-004", "each class and method of the seeds is mapped to ours", "docs"),
)

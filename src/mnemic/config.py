"""What is configured? Read once at the edge from a YAML file and the environment, passed down as values."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from platformdirs import user_data_path
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from mnemic.errors import ConfigurationError
from mnemic.types import DurabilityMode, MemoryType, SearchMode, SummarizationStrategy

__all__ = [
    "AgentSettings",
    "AuditSettings",
    "DecaySettings",
    "EmbeddingSettings",
    "GovernanceSettings",
    "IdentitySettings",
    "LimitSettings",
    "RetentionSettings",
    "SearchSettings",
    "SessionSettings",
    "Settings",
    "TierSettings",
    "TokenSettings",
    "VectorSettings",
    "load_settings",
]

_PREFIX = "MNEMIC_"
_CONFIG_VARIABLE = "MNEMIC_CONFIG"
_STRICT_VARIABLES = ("MNEMIC_IDENTITY_STRICT", "EVOSPIKENET_IDENTITY_STRICT")
_SECTION = ("runtime", "memory_engine")

Values = Mapping[str, Any]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class IdentitySettings(_Section):
    """Who acts where a call does not say; strict mode asks for tenant, user and client on every call (ID-006)."""

    strict: bool | Literal["auto"] = "auto"
    """Ask for tenant, user and client on every call; ``auto`` means no inside one process."""
    tenant_id: str | None = None
    """Whose memories, where a call does not say."""
    user_id: str | None = None
    """For which user, where a call does not say."""
    client_id: str | None = None
    """Through which client, where a call does not say."""
    volk_id: str | None = None
    """Which agent acts, where a call does not say."""
    session_id: str | None = None
    """In which session, where a call does not say."""


class EmbeddingSettings(_Section):
    """Which model makes the vectors (FR-009)."""

    provider: str = "minilm"
    """minilm, static, sentence_transformers, openai, hashing (tests), or none."""
    model: str = "all-MiniLM-L6-v2"
    """Name of the model; another one than the packaged selects ``sentence_transformers``."""
    dimension: int = Field(default=384, gt=0, le=8192)
    """Numbers in a vector."""
    cache_embeddings: bool = True
    """Keep vectors by a hash of the text, across restarts."""
    token_vectors: Literal["pca64", "none"] = "pca64"  # noqa: S105 - tokens of text
    """Keep vectors of single tokens, by which search compares in detail: in 64 directions, or none."""
    batch_size: int = Field(default=32, gt=0, le=1024)
    """Texts in a batch at most; batches are also cut by padded tokens."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where the model runs."""
    timeout_s: float = Field(default=60.0, gt=0)
    """How long a batch of writes may take before it counts as failed and is tried again."""
    query_timeout_ms: int = Field(default=2000, gt=0)
    """How long a search waits for its query's vector before words alone answer."""
    base_url: str | None = None
    """Where an OpenAI-style service answers; only for provider ``openai``."""
    api_key: str | None = Field(default=None, repr=False)
    """Sent to the service; never printed."""


class SearchSettings(_Section):
    """How a search runs where the call does not say."""

    profile: str = "balanced"
    """Ranking: balanced, composite, fusion or priority."""
    mode: SearchMode = SearchMode.HYBRID
    """Which channels answer: hybrid, semantic or keyword."""
    min_similarity: float = Field(default=0.0, ge=0.0, le=1.0)
    """Floor on the part ``similarity`` of a hit."""
    max_limit: int = Field(default=1000, ge=1, le=1000)
    """The most hits that one search may ask for."""
    pending_wait_ms: int = Field(default=200, ge=0, le=60_000)
    """How long a search waits for the caller's own vectors under way."""


class DecaySettings(_Section):
    """How recency fades (FR-015); it only ranks."""

    age_from: Literal["occurred", "created", "last_access"] = "occurred"
    """The moment that age counts from."""
    half_life_h: Mapping[MemoryType, float] = {
        MemoryType.SHORT_TERM: 24.0,
        MemoryType.EPISODIC: 168.0,
        MemoryType.LONG_TERM: 720.0,
        MemoryType.ENTITY: 2160.0,
    }
    """Hours until the weight halves, by type; a type without a value never fades."""
    floor: float = Field(default=0.05, ge=0.0, lt=1.0)
    """What is left of the weight of very old memories."""


class LimitSettings(_Section):
    """Above these a value is refused, never cut (FR-017)."""

    content_bytes: int = Field(default=1 << 20, gt=0)
    """Bytes of UTF-8 in one memory."""
    metadata_bytes: int = Field(default=16 << 10, gt=0)
    """Bytes of its metadata as JSON."""
    metadata_depth: int = Field(default=8, gt=0, le=64)
    """Levels of nested metadata."""
    metadata_members: int = Field(default=256, gt=0)
    """Values in its metadata."""
    tags: int = Field(default=32, ge=0)
    """Tags of one memory."""
    tag_chars: int = Field(default=64, gt=0)
    """Characters of a tag."""
    key_chars: int = Field(default=256, gt=0)
    """Characters of a key."""
    key_bytes: int = Field(default=512, gt=0)
    """Bytes of UTF-8 in a key."""
    query_bytes: int = Field(default=8 << 10, gt=0)
    """Bytes of UTF-8 in a query."""
    batch_items: int = Field(default=1000, gt=0)
    """Memories in one batch."""
    request_bytes: int = Field(default=8 << 20, gt=0)
    """Bytes of all content in one batch."""
    max_pending: int = Field(default=10_000, gt=0)
    """Writes that may wait at once; beyond it callers get OverloadedError."""


class SessionSettings(_Section):
    """How long the working set of a session lives, and when its end leaves a summary."""

    ttl_s: int = Field(default=86_400, gt=0)
    """Seconds that an entry stays in the working set of its session."""
    summary_min_tokens: int = Field(default=2048, ge=0)
    """An owner whose entries hold more gets a stored summary at the end; 0 means never."""


class RetentionSettings(_Section):
    """How long what was deleted stays for history and ``as_of``."""

    deleted_days: int = Field(default=30, ge=0)
    """Days that old versions of a deleted memory are kept; 0 means none."""
    tombstone_days: int = Field(default=30, ge=1)
    """Days that the mark of a deletion is kept."""


class AgentSettings(_Section):
    """What is known of one agent: its roles come from here or from a verified token, never from a request."""

    roles: tuple[str, ...] = ()
    """team_lead may store shared memories, system_admin system ones."""
    project_id: str | None = None
    """The project that it reads shared memories of."""
    crew_id: str | None = None
    """The crew that it reads shared memories of."""
    provider: str | None = None
    """Its model provider, by which tokens are counted."""
    model: str | None = None
    """Its model."""


class GovernanceSettings(_Section):
    """Who may do what."""

    engine: Literal["builtin"] = "builtin"
    """What decides; ``builtin`` are the rules in Python."""
    shared_readers: Literal["project", "tenant"] = "project"
    """Who reads class shared: the same project or crew, or the whole tenant."""
    agents: Mapping[str, AgentSettings] = {}
    """What is known of each agent, by its volk id."""


class TierSettings(_Section):
    """Which provider keeps the memories."""

    cold: str = "sqlite"
    """Name of the provider."""
    promote_min_score: float = Field(default=0.5, ge=0.0, le=1.0)
    """From this score on a hit at rank 1 to 3 comes into the working set."""


class TokenSettings(_Section):
    """How tokens are counted."""

    counter: str = "auto"
    """``auto``, or the name of a model provider."""
    anthropic_factor: float = Field(default=1.53, ge=1.0, le=4.0)
    """Tokens of a Claude model for one of o200k; an estimate."""


class VectorSettings(_Section):
    """When an exact scan gives way to an index."""

    exact_limit: int = Field(default=50_000, ge=1)
    """Up to this many rows every vector is compared; above, sign bits choose whom to compare."""


class AuditSettings(_Section):
    """When the audit row of a read is there."""

    reads: Literal["async", "sync"] = "async"
    """``async`` writes it within a second, ``sync`` before the read returns."""


class Settings(_Section):
    """Every setting with its default; unknown keys are errors (CFG-001)."""

    data_dir: Path = Field(default_factory=lambda: user_data_path("mnemic", appauthor=False))
    durability: DurabilityMode = DurabilityMode.POWER
    injection_enabled: bool = True
    injection_budget_tokens: int = Field(default=4096, ge=0)
    injection_strategy: SummarizationStrategy = SummarizationStrategy.RELEVANCE
    embedding: EmbeddingSettings = EmbeddingSettings()
    tiers: TierSettings = TierSettings()
    identity: IdentitySettings = IdentitySettings()
    search: SearchSettings = SearchSettings()
    ranking: Mapping[str, float] = {}
    """Constants of the ranking by name; what is not named keeps its measured default."""
    decay: DecaySettings = DecaySettings()
    vectors: VectorSettings = VectorSettings()
    tokens: TokenSettings = TokenSettings()
    limits: LimitSettings = LimitSettings()
    session: SessionSettings = SessionSettings()
    retention: RetentionSettings = RetentionSettings()
    governance: GovernanceSettings = GovernanceSettings()
    audit: AuditSettings = AuditSettings()
    providers: Mapping[str, Mapping[str, Any]] = {}
    """Options of each provider by its name, for example ``sqlite: {path: memory.db}``."""


def load_settings(path: Path | None = None, *, overrides: Values | None = None) -> Settings:
    """Read the settings; an override beats the environment, which beats the file.

    Args:
        path: A YAML file with the settings under ``runtime.memory_engine``; None means the one that ``MNEMIC_CONFIG``
            names, if any.
        overrides: Nested values by name.

    Raises:
        ConfigurationError: A key is unknown, a value has the wrong type, or the file cannot be read.
    """
    named = os.environ.get(_CONFIG_VARIABLE)
    file = path or (Path(named) if named else None)
    values = _merged(_merged(_from_file(file) if file else {}, _from_environment(os.environ)), overrides or {})
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise ConfigurationError(_described(error)) from None


def _from_file(path: Path) -> Values:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigurationError(
            f"cannot read configuration {path}: {type(error).__name__}; check path and YAML"
        ) from None
    for name in _SECTION:
        document = (document or {}).get(name) if isinstance(document or {}, Mapping) else None
    if not isinstance(document or {}, Mapping):
        raise ConfigurationError(f"{path} has no mapping under {'.'.join(_SECTION)}; put the settings there")
    return document or {}


def _from_environment(variables: Mapping[str, str]) -> Values:
    values: dict[str, Any] = {}
    for name, text in variables.items():
        if name.startswith(_PREFIX) and name not in {_CONFIG_VARIABLE, *_STRICT_VARIABLES} and text:
            values = _merged(values, _nested(name.removeprefix(_PREFIX).lower().split("__"), _parsed(text)))
    strict = [_switch(name, variables[name]) for name in _STRICT_VARIABLES if variables.get(name)]
    return _merged(values, {"identity": {"strict": any(strict)}}) if strict else values


def _switch(name: str, text: str) -> bool:
    try:
        return TypeAdapter(bool).validate_python(text.strip().lower())
    except ValidationError:
        raise ConfigurationError(f"{name} is {text!r}; give true or false, 1 or 0, yes or no, on or off") from None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text) if text[0] in "[{" else text
    except json.JSONDecodeError:
        return text


def _nested(path: Iterable[str], value: Any) -> Values:
    for name in reversed(list(path)):
        value = {name: value}
    return value  # type: ignore[no-any-return]  # a path has at least one name


def _merged(base: Values, over: Values) -> dict[str, Any]:
    merged = dict(base)
    for name, value in over.items():
        before = merged.get(name)
        merged[name] = _merged(before, value) if isinstance(before, Mapping) and isinstance(value, Mapping) else value
    return merged


def _described(error: ValidationError) -> str:
    """Name each wrong key and what is wrong with it, without its value: it may be a secret."""
    faults = (f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors(include_input=False))
    return f"configuration: {'; '.join(faults)}; see the reference of settings"

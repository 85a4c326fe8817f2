"""What is put together from settings? The composition root: the only place that names adapters."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import random
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from mnemic import tokens, words
from mnemic.audit import Auditor
from mnemic.config import Settings, load_settings
from mnemic.context import short_summary
from mnemic.embedders.cached import CachedEmbedder
from mnemic.engine import MemoryEngine
from mnemic.engine.indexer import Indexer
from mnemic.engine.notes import Notes
from mnemic.engine.shared import Caller, Shared
from mnemic.engine.upkeep import Upkeep
from mnemic.errors import ConfigurationError, MissingExtraError
from mnemic.events import EventBus
from mnemic.policy import BuiltinPolicy
from mnemic.ports import (
    Clock,
    Embedder,
    EmbeddingCache,
    Ids,
    IEventBus,
    IMemoryProvider,
    ITokenCounter,
    Journal,
)
from mnemic.retrieval import Decay, Ranking, Retriever
from mnemic.tiers import Tiers
from mnemic.types import Identity

__all__ = ["SystemClock", "Uuids", "embedder", "open_engine", "provider"]

PROVIDERS = {
    "inmemory": "mnemic.providers.inmemory:InMemoryProvider",
    "sqlite": "mnemic.providers.sqlite:SqliteProvider",
}
"""Name of a provider to where its class is; other packages add theirs under the entry point ``mnemic.providers``."""
_ALIASES = {"in-memory": "inmemory", "memory": "inmemory", "": "sqlite"}
EMBEDDERS = {
    "minilm": ("mnemic.embedders.minilm:MiniLM", ""),
    "static": ("mnemic.embedders.static:Static", ""),
    "hashing": ("mnemic.embedders.hashing:Hashing", ""),
    "sentence_transformers": ("mnemic.embedders.sentence_transformers:SentenceTransformers", "sentence-transformers"),
    "openai": ("mnemic.embedders.openai:OpenAI", "openai"),
}
"""Name of an embedder to where its class is and the extra that brings its packages."""
_PACKAGED_MODEL = "all-MiniLM-L6-v2"


class SystemClock(Clock):
    """The machine's clock."""

    def now(self) -> datetime:
        """See the port."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """See the port."""
        return time.monotonic()


class Uuids(Ids):
    """Random ids; a seed makes them repeatable."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.SystemRandom() if seed is None else random.Random(seed)  # noqa: S311 - ids of a replay

    def new(self) -> str:
        """See the port."""
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))


def provider(name: str, **options: Any) -> IMemoryProvider:
    """Make a provider by name: ``inmemory``, ``sqlite``, or one that another package brings.

    Raises:
        ConfigurationError: The name or an option is unknown; the message lists the known names.
        MissingExtraError: A package is not installed.
    """
    key = _ALIASES.get(name.strip().lower(), name.strip().lower())
    where = PROVIDERS.get(key) or next((e.value for e in entry_points(group="mnemic.providers") if e.name == key), None)
    if where is None:
        raise ConfigurationError(f"provider {name!r} is unknown; known: {', '.join(sorted(PROVIDERS))}")
    return _made(where, key, options)  # type: ignore[no-any-return]  # what the name stands for


def embedder(settings: Settings) -> Embedder | None:
    """Make the configured embedder; None where ``embedding.provider`` is ``none``.

    Raises:
        ConfigurationError: The name is unknown, or an option does not fit it.
        MissingExtraError: A package of its extra is not installed.
    """
    chosen = settings.embedding
    name = chosen.provider.strip().lower()
    if name == "none":
        return None
    if name == "minilm" and chosen.model != _PACKAGED_MODEL:
        name = "sentence_transformers"  # another model's name alone selects its runtime (FR-009)
    if name not in EMBEDDERS:
        raise ConfigurationError(f"embedder {name!r} is unknown; known: {', '.join(sorted(EMBEDDERS))}, none")
    where, extra = EMBEDDERS[name]
    options: dict[str, dict[str, Any]] = {
        "minilm": {"batch_size": chosen.batch_size},
        "hashing": {"dim": chosen.dimension},
        "sentence_transformers": {
            "model": chosen.model,
            "device": chosen.device,
            "batch_size": chosen.batch_size,
            "dim": chosen.dimension if "dimension" in chosen.model_fields_set else None,
        },
        "openai": {"url": chosen.base_url, "model": chosen.model, "dim": chosen.dimension, "api_key": chosen.api_key},
    }
    if chosen.device == "cuda" and name != "sentence_transformers":
        raise ConfigurationError(f"embedding.device is cuda, which {name!r} cannot use; give cpu, or another model")
    return _made(where, extra, options.get(name, {}))  # type: ignore[no-any-return]  # what the name stands for


def _made(where: str, extra: str, options: dict[str, Any]) -> Any:
    module, _, cls = where.partition(":")
    try:
        made = getattr(importlib.import_module(module), cls)
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"{error.name} is not installed; pip install 'mnemic[{extra}]'") from None
    taken = inspect.signature(made).parameters
    if unknown := sorted(set(options) - set(taken)):
        raise ConfigurationError(
            f"option {unknown[0]!r} is none of {cls}'s; it takes {', '.join(sorted(taken)) or 'none'}"
        )
    return made(**options)


def open_engine(
    target: str | Path | None = None,
    *,
    settings: Settings | None = None,
    memories: IMemoryProvider | None = None,
    model: Embedder | None = None,
    clock: Clock | None = None,
    ids: Ids | None = None,
    bus: IEventBus | None = None,
) -> MemoryEngine:
    """Put an engine together; it opens by ``async with``, or by ``start()``.

    Args:
        target: A file, ``:memory:``, or None for the configured store.
        settings: None means what file and environment say.
        memories: A provider that is a journal too, instead of the configured one.
        model: An embedder instead of the configured one.
        clock: The source of time.
        ids: The source of new ids.
        bus: Who tells subscribers, instead of a bus of the engine's own.

    Raises:
        ConfigurationError: A setting is unknown, or names what does not exist.
    """
    settings = settings or load_settings()
    clock, ids = clock or SystemClock(), ids or Uuids()
    store = memories if memories is not None else _store(settings, target, clock)
    if not isinstance(store, Journal):
        raise ConfigurationError(f"provider {store.name!r} keeps no journal; choose sqlite for tiers.cold")
    chosen = model if model is not None else embedder(settings)
    cache = store if isinstance(store, EmbeddingCache) and settings.embedding.cache_embeddings else None
    cached = _cached(chosen, cache, settings) if chosen is not None else None
    shared = _shared(settings, Tiers(store, store), cached, clock, ids)
    shared.bus = bus or shared.bus
    named = {n: v for n in settings.identity.model_fields_set if n != "strict" and (v := getattr(settings.identity, n))}
    caller = Caller(shared, Identity(), frozenset()).acting(**named)
    return MemoryEngine(caller, Upkeep(shared, caller.who.tenant_id))


def _cached(model: Embedder, cache: EmbeddingCache | None, settings: Settings) -> Embedder:
    wanted = settings.embedding.token_vectors == "pca64"  # noqa: S105 - tokens of text
    return CachedEmbedder(model, cache, index_format=words.INDEX_FORMAT, token_vectors=wanted)


def _shared(settings: Settings, tiers: Tiers, model: Embedder | None, clock: Clock, ids: Ids) -> Shared:
    counter = _counters(settings)
    return Shared(
        settings=settings,
        tiers=tiers,
        embedder=model,
        retriever=_retriever(settings, tiers),
        policy=BuiltinPolicy(settings.governance),
        bus=EventBus(),
        clock=clock,
        ids=ids,
        auditor=Auditor(tiers.journal, clock, ids),
        counter=counter,
        indexer=Indexer(
            tiers,
            model,
            clock,
            timeout_s=settings.embedding.timeout_s,
            shorten=lambda text: short_summary(text, counter(None)),
        ),
        notes=Notes(tiers),
    )


def _retriever(settings: Settings, tiers: Tiers) -> Retriever:
    known = {f.name for f in dataclasses.fields(Ranking)}
    if unknown := sorted(set(settings.ranking) - known):
        raise ConfigurationError(f"ranking.{unknown[0]} is unknown; known: {', '.join(sorted(known))}")
    whole = {f.name for f in dataclasses.fields(Ranking) if f.type == "int"}
    constants: dict[str, Any] = {n: int(v) if n in whole else v for n, v in settings.ranking.items()}
    decay = Decay(
        age_from=settings.decay.age_from, floor=settings.decay.floor, half_life_h=dict(settings.decay.half_life_h)
    )
    return Retriever(tiers.memories, ranking=Ranking(**constants), decay=decay)


def _counters(settings: Settings) -> Callable[[str | None], ITokenCounter]:
    """Counters by model provider; one is made once. None means the configured one, ``auto`` the words' estimate."""
    configured = None if settings.tokens.counter == "auto" else settings.tokens.counter
    named = "anthropic_factor" in settings.tokens.model_fields_set
    factor = settings.tokens.anthropic_factor if named else None  # None: the factor of the named model's age

    @functools.cache
    def counter(name: str | None) -> ITokenCounter:
        return tokens.for_provider(name or configured, factor=factor)

    return counter


def _store(settings: Settings, target: str | Path | None, clock: Clock) -> IMemoryProvider:
    name = settings.tiers.cold
    options = dict(settings.providers.get(name, {}))
    if target is not None:
        name, options["path"] = "sqlite", target
    if _ALIASES.get(name, name) == "sqlite":
        options.setdefault("path", settings.data_dir / "mnemic.db")
        options |= {"durability": settings.durability, "exact_limit": settings.vectors.exact_limit}
        options |= {"max_pending": settings.limits.max_pending}
    return provider(name, clock=clock, **options)

"""Every class and method name of the seeds leads to a name of ours."""

import importlib
import re
from functools import reduce
from pathlib import Path

import pytest

from mnemic.testing import requirement
from tests.requirements import CAPABILITIES

pytestmark = pytest.mark.core_interface

NOW, _, LATER = (Path(__file__).parents[1] / "docs" / "names.md").read_text(encoding="utf-8").partition("## To come")
SEED_NAMES = {
    "1": """ComponentType.MEMORY_ENGINE IComponent IComponent.initialize IComponent.start IComponent.stop
        IComponent.get_health IMemoryEngine IMemoryEngine.store IMemoryEngine.retrieve IMemoryEngine.search
        IMemoryEngine.summarize IMemoryEngine.update IMemoryEngine.delete IMemoryEngine.migrate_to_cold MemoryEngine
        MemoryClassification MemoryScope MemoryEntry MemorySummary SummarizationStrategy ITokenCounter
        ITokenCounter.count ITokenCounter.truncate WordCounter SystemEvent EventBus EventBus.subscribe
        Kernel.emit_event FactEmitter""",
    "2": """MemoryOrchestrator MemoryOrchestrator.process_request InputNormalizer ExecutionPolicy
        MemoryContextPayload FailureHandlingResult OrchestrationResponse OrchestrationRuntimeError""",
    "3": """IMemoryProvider IMemoryProvider.StoreAsync IMemoryProvider.GetAsync IMemoryProvider.SearchAsync
        IMemoryProvider.DeleteAsync IMemoryProvider.ClearAsync IMemoryProvider.StoreWithEmbeddingAsync
        IMemoryProvider.SearchSimilarAsync InitializeAsync UpdateAsync CountAsync ListKeysAsync HybridSearchAsync
        HeartbeatAsync MemoryType InMemoryProvider RedisMemoryProvider SqliteMemoryProvider ChromaDbMemoryProvider
        ChromaDbOptions PineconeMemoryProvider LanceDbMemoryProvider AddOrkeonLanceDb IMemoryProviderFactory
        MemoryProviderFactory MemoryProviderConfigDto MemoryService CrewMemoryProviderRegistry
        CrewBuilder.WithMemoryProvider EncryptedMemoryProviderDecorator IEncryptionProvider MemoryAnalysis
        ContradictionCheck ScoredMemory MemoryConsolidator""",
}


def _rows(table: str) -> list[list[str]]:
    return [re.findall(r"[\w.]+", line) for line in table.splitlines() if re.match(r"\| [123] ", line)]


def _find(dotted: str) -> object:
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        try:
            found: object = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # something that the module needs is missing, not the module
        else:
            return reduce(getattr, parts[length:], found)
    raise ModuleNotFoundError(dotted)


@requirement("CHK-004")
@pytest.mark.parametrize(("theirs", "ours"), [row[1:] for row in _rows(NOW)])
def test_a_name_of_a_seed_can_be_imported(theirs: str, ours: str) -> None:
    assert _find(ours) is not None, theirs


@pytest.mark.parametrize(("ours", "capability"), [row[2:] for row in _rows(LATER)])
def test_a_name_to_come_has_a_capability_and_is_not_here_yet(ours: str, capability: str) -> None:
    assert capability in CAPABILITIES
    with pytest.raises((ModuleNotFoundError, AttributeError)):
        _find(ours)


def test_the_page_lists_every_name_of_the_seeds_once() -> None:
    listed = [(row[0], row[1]) for row in _rows(NOW) + _rows(LATER)]
    assert sorted(listed) == sorted((seed, name) for seed, names in SEED_NAMES.items() for name in names.split())

"""One YAML section and one prefix of variables; an error names the key and shows no secret."""

from pathlib import Path
from typing import Any

import pytest

from mnemic.config import Settings, load_settings
from mnemic.errors import ConfigurationError
from mnemic.testing import requirement

pytestmark = pytest.mark.core_interface

_STRICT = ("MNEMIC_IDENTITY_STRICT", "EVOSPIKENET_IDENTITY_STRICT")


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*_STRICT, "MNEMIC_CONFIG"):
        monkeypatch.delenv(name, raising=False)


def _file(folder: Path, text: str) -> Path:
    path = folder / "production.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@requirement("CFG-001")
def test_an_override_beats_the_environment_which_beats_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _file(tmp_path, "runtime:\n  memory_engine:\n    search: {profile: fusion, mode: keyword, max_limit: 5}\n")
    monkeypatch.setenv("MNEMIC_CONFIG", str(path))
    monkeypatch.setenv("MNEMIC_SEARCH__MODE", "semantic")
    monkeypatch.setenv("MNEMIC_SEARCH__MAX_LIMIT", "6")
    search = load_settings(overrides={"search": {"max_limit": 7}}).search
    assert (search.profile, search.mode, search.max_limit) == ("fusion", "semantic", 7)
    assert load_settings(path).search.max_limit == 6


@requirement("CFG-001")
def test_a_variable_reaches_every_depth_and_holds_lists_and_mappings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_GOVERNANCE__AGENTS__ADA__ROLES", '["team_lead"]')
    monkeypatch.setenv("MNEMIC_DECAY__HALF_LIFE_H", '{"entity": 5}')
    monkeypatch.setenv("MNEMIC_INJECTION_ENABLED", "off")
    monkeypatch.setenv("MNEMIC_DURABILITY", "process")
    settings = load_settings()
    assert settings.governance.agents["ada"].roles == ("team_lead",)
    assert dict(settings.decay.half_life_h) == {"entity": 5.0}
    assert (settings.injection_enabled, settings.durability) == (False, "process")


@requirement("CFG-001")
@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("runtime: {memory_engine: {serach: {}}}", "serach"),
        ("runtime: {memory_engine: {search: {profil: x}}}", "search.profil"),
        ("runtime: {memory_engine: {limits: {tags: many}}}", "limits.tags"),
        ("runtime: {memory_engine: {search: {max_limit: 0}}}", "search.max_limit"),
        ("runtime: {memory_engine: {embedding: {device: tpu}}}", "embedding.device"),
        ("runtime: {memory_engine: {durability: forever}}", "durability"),
        ("runtime: {memory_engine: [1]}", "runtime.memory_engine"),
        ("runtime: {memory_engine: {", "production.yaml"),
        ("\x00", "production.yaml"),
    ],
)
def test_what_cannot_be_a_setting_is_an_error_that_names_the_key(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        load_settings(_file(tmp_path, text))


@requirement("CFG-001", "D45")
def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere\.yaml: FileNotFoundError"):
        load_settings(tmp_path / "nowhere.yaml")


@requirement("CFG-001")
@pytest.mark.parametrize("text", ["", "other: {a: 1}", "runtime:", "runtime: {memory_engine: }"])
def test_a_file_without_the_section_changes_nothing(tmp_path: Path, text: str) -> None:
    assert load_settings(_file(tmp_path, text)) == load_settings()


@requirement("CFG-001")
def test_a_secret_is_neither_printed_nor_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_EMBEDDING__API_KEY", "sesame")
    assert load_settings().embedding.api_key == "sesame"
    assert "sesame" not in repr(load_settings())
    monkeypatch.setenv("MNEMIC_EMBEDDING__DEVICE", "sesame")
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert "sesame" not in str(caught.value)
    assert "embedding.device" in str(caught.value)


@requirement("ID-007")
@pytest.mark.parametrize("name", _STRICT)
@pytest.mark.parametrize(
    ("text", "strict"),
    [
        *((text, True) for text in ("true", "1", "YES", "On", " true ")),
        *((text, False) for text in ("false", "0", "No", "OFF")),
    ],
)
def test_either_variable_sets_strictness(monkeypatch: pytest.MonkeyPatch, name: str, text: str, strict: bool) -> None:
    monkeypatch.setenv(name, text)
    assert load_settings().identity.strict is strict


@requirement("ID-007")
@pytest.mark.parametrize(("one", "other", "strict"), [("1", "0", True), ("0", "1", True), ("0", "0", False)])
def test_a_contradiction_of_both_variables_means_strict(
    monkeypatch: pytest.MonkeyPatch, one: str, other: str, strict: bool
) -> None:
    for name, text in zip(_STRICT, (one, other), strict=True):
        monkeypatch.setenv(name, text)
    assert load_settings().identity.strict is strict


@requirement("ID-007")
@pytest.mark.parametrize("name", _STRICT)
def test_a_strictness_that_is_neither_yes_nor_no_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert load_settings().identity.strict == "auto"
    monkeypatch.setenv(name, "perhaps")
    with pytest.raises(ConfigurationError, match=f"{name} is 'perhaps'; give true or false"):
        load_settings()


_DEFAULTS: dict[str, Any] = {
    "injection_enabled": True,
    "injection_budget_tokens": 4096,
    "injection_strategy": "relevance",
    "embedding.model": "all-MiniLM-L6-v2",
    "embedding.dimension": 384,
    "embedding.cache_embeddings": True,
    "embedding.token_vectors": "pca64",
    "embedding.batch_size": 32,
    "embedding.device": "cpu",
    "embedding.provider": "minilm",
    "durability": "power",
    "tiers.cold": "sqlite",
    "tiers.promote_min_score": 0.5,
    "identity.strict": "auto",
    "search.profile": "balanced",
    "search.mode": "hybrid",
    "search.min_similarity": 0.0,
    "search.max_limit": 1000,
    "search.pending_wait_ms": 200,
    "decay.age_from": "occurred",
    "decay.floor": 0.05,
    "decay.half_life_h": {"short_term": 24, "episodic": 168, "long_term": 720, "entity": 2160},
    "vectors.exact_limit": 50_000,
    "tokens.counter": "auto",
    "tokens.anthropic_factor": 1.53,
    "limits.content_bytes": 1 << 20,
    "limits.metadata_bytes": 16 << 10,
    "limits.metadata_depth": 8,
    "limits.metadata_members": 256,
    "limits.tags": 32,
    "limits.tag_chars": 64,
    "limits.key_chars": 256,
    "limits.key_bytes": 512,
    "limits.query_bytes": 8 << 10,
    "limits.batch_items": 1000,
    "limits.request_bytes": 8 << 20,
    "limits.max_pending": 10_000,
    "session.summary_min_tokens": 2048,
    "session.ttl_s": 86_400,
    "retention.deleted_days": 30,
    "retention.tombstone_days": 30,
    "governance.engine": "builtin",
    "governance.shared_readers": "project",
    "audit.reads": "async",
}


@pytest.mark.parametrize("path", _DEFAULTS)
def test_every_documented_key_has_its_documented_default(path: str) -> None:
    value: Any = Settings()
    for name in path.split("."):
        value = getattr(value, name)
    assert value == _DEFAULTS[path]


@requirement("CFG-001")
def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().injection_enabled = False

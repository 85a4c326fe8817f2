"""Each foreign format gives its memories with key, place, speaker and time, and sets bad rows aside."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from mnemic.errors import InvalidInputError, LimitError
from mnemic.importers import FORMATS, OWN, Draft, ImportOptions, Rejected, detect, files, parse
from mnemic.testing import requirement

pytestmark = pytest.mark.integration

DATA = Path(__file__).parent.parent / "data" / "importers"
FIXTURES = {
    "plain.jsonl": ("jsonl", 7, 3),
    "notes": ("markdown", 8, 0),
    "bracketed.txt": ("chat", 7, 2),
    "names.txt": ("chat", 6, 1),
    "conversations.json": ("chatgpt", 8, 2),
    "locomo.json": ("locomo", 8, 2),
    "kit": ("kit", 7, 2),
}


def read(path: Path, *, format_: str | None = None, **options: Any) -> tuple[list[Draft], list[Rejected]]:
    rows = list(parse(path, format_ or detect(path), ImportOptions(**options)))
    return [row for row in rows if isinstance(row, Draft)], [row for row in rows if isinstance(row, Rejected)]


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@requirement("ENG-016", "D46")
@pytest.mark.parametrize("name", FIXTURES)
def test_a_format_is_recognised_and_its_bad_rows_are_counted(name: str) -> None:
    format_, memories, set_aside = FIXTURES[name]
    drafts, rejected = read(DATA / name)
    assert (detect(DATA / name), len(drafts), len(rejected)) == (format_, memories, set_aside)


@pytest.mark.parametrize("name", FIXTURES)
def test_the_keys_of_a_source_are_distinct_stable_and_name_their_format(name: str) -> None:
    first, again = (read(DATA / name)[0] for _ in range(2))
    places = [(draft.tenant, draft.user, draft.key) for draft in first]
    assert len(set(places)) == len(places)
    assert [draft.key for draft in again] == [draft.key for draft in first]
    assert all(draft.key.startswith(f"{FIXTURES[name][0]}:") for draft in first)


@pytest.mark.parametrize("name", FIXTURES)
def test_no_reason_repeats_what_a_rejected_row_says(name: str) -> None:
    _, rejected = read(DATA / name)
    words = {word for row in rejected for word in row.reason.split()}
    assert not words & {"storm", "never", "2026-02-30", "2026-13-45", "calendar", "clock"}


def test_json_lines_keep_tags_metadata_and_unknown_fields(tmp_path: Path) -> None:
    row = {"id": "a7", "text": "Tea at four.", "tags": ["tea"], "metadata": {"n": 1}, "mood": "calm", "importance": 0.9}
    drafts, _ = read(written(tmp_path, "notes.jsonl", json.dumps(row)))
    assert drafts == [
        Draft(
            key="jsonl:a7",
            content="Tea at four.",
            options={"tags": ["tea"], "metadata": {"mood": "calm", "n": 1}, "importance": 0.9},
        )
    ]


@pytest.mark.parametrize("field", ["tags", "metadata", "id", "classification", "memory_type", "session"])
def test_a_field_of_the_wrong_shape_sets_its_row_aside(tmp_path: Path, field: str) -> None:
    path = written(
        tmp_path, "rows.jsonl", json.dumps({"text": "Tea at four.", field: [{"x": 1}]}) + '\n{"text": "Fine."}'
    )
    drafts, rejected = read(path)
    assert ([draft.content for draft in drafts], [row.place for row in rejected]) == (["Fine."], ["line 1"])


@requirement("D06")
def test_a_time_without_a_zone_is_read_in_the_zone_that_the_caller_names() -> None:
    at = "2026-03-14T10:05:00"
    utc, berlin = (
        next(d for d in read(DATA / "plain.jsonl", timezone=zone)[0] if d.session == "repairs").options["occurred_at"]
        for zone in (UTC, ZoneInfo("Europe/Berlin"))
    )
    assert utc == datetime.fromisoformat(at).replace(tzinfo=UTC)
    assert berlin == datetime(2026, 3, 14, 9, 5, tzinfo=UTC)


def test_a_time_with_a_zone_keeps_it_whatever_the_caller_names() -> None:
    drafts, _ = read(DATA / "plain.jsonl", timezone=ZoneInfo("Asia/Tokyo"))
    assert drafts[1].options["occurred_at"] == datetime(2026, 3, 3, 16, 40, tzinfo=UTC)


def test_a_section_of_a_note_stands_under_its_headings_with_the_notes_date_and_tags() -> None:
    drafts, _ = read(DATA / "notes")
    winter = next(draft for draft in drafts if draft.key == "markdown:boathouse.md#boathouse/winter")
    assert winter.content.startswith("Boathouse / Winter\nDrain the pump")
    assert winter.content.endswith("valve: quarter turn to the left\n```")
    assert (winter.options["tags"], winter.options["occurred_at"]) == (
        ["boathouse", "winter"],
        datetime(2026, 2, 10, tzinfo=UTC),
    )


def test_a_daily_note_is_dated_by_its_name_and_equal_headings_get_a_number(tmp_path: Path) -> None:
    path = written(tmp_path, "2026-05-17.md", "# Log\nrain\n# Log\nsun\n")
    drafts, _ = read(path)
    assert [draft.key for draft in drafts] == ["markdown:2026-05-17.md#log", "markdown:2026-05-17.md#log-2"]
    assert {draft.options["occurred_at"] for draft in drafts} == {datetime(2026, 5, 17, tzinfo=UTC)}


@requirement("D45")
def test_links_and_hidden_folders_below_a_folder_of_notes_are_not_followed(tmp_path: Path) -> None:
    secret = written(tmp_path, "outside/secret.md", "nothing to see")
    notes = written(tmp_path, "notes/a.md", "one").parent
    written(tmp_path, "notes/.trash/b.md", "two")
    (notes / "link.md").symlink_to(secret)
    (notes / "folder").symlink_to(secret.parent, target_is_directory=True)
    assert [draft.content for draft in read(notes)[0]] == ["one"]


def test_lines_without_a_name_belong_to_the_message_before_them() -> None:
    drafts, _ = read(DATA / "bracketed.txt")
    assert drafts[2].content == "Thanks. Can you order a new one?\nIt has to be the type for outdoors, E27."
    assert (drafts[2].options["speaker"], drafts[2].options["turn"], drafts[2].session) == ("Pia", 2, "bracketed")


@pytest.mark.parametrize(
    ("line", "time"),
    [
        ("31.01.24, 21:05 - Mo: late", datetime(2024, 1, 31, 21, 5, tzinfo=UTC)),
        ("[1/31/24, 9:05:10 PM] Mo: late", datetime(2024, 1, 31, 21, 5, 10, tzinfo=UTC)),
        ("03/02/2024, 09:05 - Mo: early", datetime(2024, 2, 3, 9, 5, tzinfo=UTC)),
        ("2024-01-31T21:05:00+01:00 Mo: late", datetime(2024, 1, 31, 20, 5, tzinfo=UTC)),
        ("Mo: some time", None),
    ],
)
def test_messengers_write_dates_in_several_ways(tmp_path: Path, line: str, time: datetime | None) -> None:
    drafts, _ = read(written(tmp_path, "chat.txt", line))
    assert drafts[0].options.get("occurred_at") == time
    assert drafts[0].options["speaker"] == "Mo"


def test_a_chat_that_grew_keeps_the_keys_of_what_it_had(tmp_path: Path) -> None:
    path = written(tmp_path, "chat.txt", "Mo: ok\nPia: ok\nMo: ok\n")
    before = [draft.key for draft in read(path)[0]]
    written(tmp_path, "chat.txt", "Mo: ok\nPia: ok\nMo: ok\nMo: ok\nPia: bye\n")
    after = [draft.key for draft in read(path)[0]]
    assert (after[:3], len(set(after))) == (before, 5)


def test_a_chatgpt_export_gives_the_current_path_without_machinery() -> None:
    drafts, _ = read(DATA / "conversations.json")
    varnish = [draft for draft in drafts if draft.session == "conv-varnish"]
    assert [draft.key for draft in varnish] == [f"chatgpt:a{n}" for n in (2, 3, 4, 5)]
    assert [draft.options["role"] for draft in varnish] == ["user", "assistant"] * 2
    assert varnish[0].options["metadata"] == {"title": "Varnish for the deck"}
    assert varnish[0].options["occurred_at"] == datetime(2026, 5, 1, 9, 40, 0, 250_000, tzinfo=UTC)


def test_a_tree_of_messages_that_bites_its_tail_ends(tmp_path: Path) -> None:
    said = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["round and round"]}}
    tree = {"x": {"id": "x", "parent": "y", "message": said}, "y": {"id": "y", "parent": "x", "message": None}}
    talk = [{"conversation_id": "c", "current_node": "x", "mapping": tree}]
    drafts, _ = read(written(tmp_path, "conversations.json", json.dumps(talk)))
    assert [draft.key for draft in drafts] == ["chatgpt:x"]


def test_locomo_turns_carry_the_time_of_their_session_and_the_words_of_their_image() -> None:
    drafts, _ = read(DATA / "locomo.json")
    assert drafts[2].content == "Here is my certificate, framed by my nephew. [image: a certificate in a wooden frame]"
    assert (drafts[2].key, drafts[2].session, drafts[2].options["turn"]) == ("locomo:club-1:D1:3", "club-1:S1", 2)
    assert drafts[2].options["occurred_at"] == datetime(2026, 5, 8, 13, 56, tzinfo=UTC)


def test_rows_of_the_kit_keep_tenant_user_session_and_place() -> None:
    drafts, _ = read(DATA / "kit")
    places = [(draft.key, draft.tenant, draft.session, draft.options.get("turn")) for draft in drafts]
    assert places[3:6] == [("kit:k4", "north", "s2", 0), ("kit:k6", "south", "s1", 0), ("kit:k7", "south", "s1", 1)]
    assert drafts[-1].options["classification"] == "private"


def test_a_gzipped_file_reads_like_a_plain_one(tmp_path: Path) -> None:
    packed = tmp_path / "memories.jsonl.gz"
    packed.write_bytes(gzip.compress((DATA / "kit" / "memories.jsonl").read_bytes()))
    assert read(tmp_path) == read(DATA / "kit")


def test_a_gzip_file_that_ends_in_the_middle_is_a_typed_error(tmp_path: Path) -> None:
    packed = tmp_path / "memories.jsonl.gz"
    packed.write_bytes(gzip.compress((DATA / "kit" / "memories.jsonl").read_bytes())[:-20])
    with pytest.raises(InvalidInputError, match="cannot read"):
        read(tmp_path)


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 1000)
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"text": "again"}\n' * 1000))
    with pytest.raises(LimitError, match="at most"):
        read(packed)


@pytest.mark.parametrize("name", ["empty.json", "image.png", "empty", "no-such-file.jsonl"])
def test_what_cannot_be_told_names_the_option(tmp_path: Path, name: str) -> None:
    if name == "empty":
        (tmp_path / name).mkdir()
    elif not name.startswith("no-such"):
        written(tmp_path, name, "[]")
    with pytest.raises(InvalidInputError, match=r"--format|does not exist"):
        detect(tmp_path / name)


def test_own_exports_are_recognised_by_their_first_line(tmp_path: Path) -> None:
    assert detect(written(tmp_path, "backup.ndjson", json.dumps({"type": "mnemic-export", "schema": 1}) + "\n")) == OWN


def test_a_format_that_does_not_exist_lists_those_that_do() -> None:
    with pytest.raises(InvalidInputError, match="jsonl, markdown, chat, chatgpt, locomo, kit"):
        parse(DATA / "kit", "word", ImportOptions())
    assert OWN not in FORMATS


def test_a_source_id_that_is_too_long_for_a_key_gives_its_hash(tmp_path: Path) -> None:
    rows = "\n".join(json.dumps({"id": "x" * 300 + str(n), "text": "long"}) for n in range(2))
    drafts, _ = read(written(tmp_path, "rows.jsonl", rows))
    assert len({draft.key for draft in drafts}) == 2
    assert all(len(draft.key) < 64 for draft in drafts)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("note.md", "---\ntitle: [open\n---\ntext", "YAML"),
        ("memories.jsonl", '{"tenant": "t", "text": "no id", "id": null}', "no id"),
        ("memories.jsonl", '{"id": "a", "tenant": "t", "user": "u", "text": "x", "meta": {"scope": "?"}}', "scope"),
        ("rows.jsonl", '["not an object"]', "object"),
        ("talk.json", '[{"conversation": 7}]', "conversation"),
        ("talk.json", '[{"conversation": {"session_1": ["hello"]}}]', "object"),
        ("talk.json", '[{"conversation": {"session_1": [{"text": "hello"}]}}]', "dia_id"),
        ("chats.json", '[{"mapping": 7}]', "mapping"),
        ("chats.json", '[{"mapping": {"x": {"message": 7}}}]', "object"),
        ("chat.txt", "no name at all", "name: text"),
        ("chat.txt", "31.02.24, 21:05 - Mo: late", "exist"),
    ],
)
def test_what_breaks_the_format_is_set_aside_with_its_reason(tmp_path: Path, name: str, text: str, reason: str) -> None:
    drafts, rejected = read(written(tmp_path, name, text))
    assert (drafts, len(rejected)) == ([], 1)
    assert reason in rejected[0].reason


@pytest.mark.parametrize(
    ("name", "format_"), [("talk.json", "locomo"), ("chats.json", "chatgpt"), ("chat.txt", "chat")]
)
def test_a_file_that_is_none_of_its_kind_is_a_typed_error(tmp_path: Path, name: str, format_: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"\xff\xfe{")
    with pytest.raises(InvalidInputError, match="UTF-8"):
        read(path, format_=format_)


def test_a_folder_without_memories_is_no_folder_of_the_kit(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"memories\.jsonl"):
        read(tmp_path, format_="kit")


def test_an_old_export_without_a_current_node_ends_at_its_last_leaf(tmp_path: Path) -> None:
    said = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hello."]}}
    tree = {"x": {"parent": None, "message": None, "children": ["y"]}, "y": {"parent": "x", "message": said}}
    drafts, _ = read(written(tmp_path, "conversations.json", json.dumps([{"id": "c", "mapping": tree}])))
    assert [(draft.key, draft.session) for draft in drafts] == [("chatgpt:y", "c")]


def test_tags_of_a_note_may_be_one_line_with_hashes(tmp_path: Path) -> None:
    drafts, _ = read(written(tmp_path, "note.md", "---\ntags: '#tea, #gate'\ndate: 2026-01-02\n---\nText."))
    assert drafts[0].options["tags"] == ["tea", "gate"]


def test_a_folder_with_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FILES", 1)
    for name in ("a.md", "b.md"):
        written(tmp_path, name, "text")
    with pytest.raises(LimitError, match="2 files"):
        read(tmp_path)

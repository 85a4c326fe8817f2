"""How is the LoCoMo format read: conversations of two people in dated sessions?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

from mnemic.errors import InvalidInputError
from mnemic.importers.draft import (
    Draft,
    ImportOptions,
    Parsed,
    Rejected,
    Row,
    Turns,
    content,
    drafts,
    given,
    key_of,
    moment,
    text,
)
from mnemic.importers.files import document

NAME = "locomo"

_SESSION = re.compile(r"session_(\d+)")
_TIME = "%I:%M %p on %d %B, %Y"


def parse(path: Path, options: ImportOptions) -> Parsed:
    """Turns of every conversation in order; a session's time is the time of its turns."""
    turns = Turns()

    def make(row: Row) -> Draft:
        sample, session = row["sample"], options.session or f"{row['sample']}:S{row['session']}"
        turn: Row = row["turn"]
        said, caption = text(turn, "text"), text(turn, "blip_caption")
        shown = f"[image: {caption}]" if caption else None
        if (id_ := text(turn, "dia_id")) is None:
            raise InvalidInputError("a turn has no dia_id")
        return Draft(
            key=key_of(NAME, f"{sample}:{id_}"),
            content=content({"text": " ".join(part for part in (said, shown) if part)}, "text"),
            session=session,
            options=given(
                speaker=text(turn, "speaker"),
                role="user",
                occurred_at=_session_time(row["time"], options.timezone),
                turn=turns.place(session),
            ),
        )

    return drafts(_turns(document(path)), make)


def _turns(data: Any) -> Iterator[tuple[str, Row] | Rejected]:
    for number, sample in enumerate(data if isinstance(data, list) else [data]):
        talk = sample.get("conversation") if isinstance(sample, dict) else None
        if not isinstance(talk, dict):
            yield Rejected(f"conversation {number}", "no object 'conversation'")
            continue
        yield from _sessions(text(sample, "sample_id") or str(number), talk)


def _sessions(sample: str, talk: Mapping[str, Any]) -> Iterator[tuple[str, Row] | Rejected]:
    numbers = sorted(int(match[1]) for name in talk if (match := _SESSION.fullmatch(name)))
    for number in numbers:
        for place, turn in enumerate(talk[f"session_{number}"] or ()):
            where = f"{sample} session {number} turn {place}"
            if isinstance(turn, dict):
                row = {
                    "sample": sample,
                    "session": number,
                    "time": talk.get(f"session_{number}_date_time"),
                    "turn": turn,
                }
                yield where, row
            else:
                yield Rejected(where, "not a JSON object")


def _session_time(value: Any, zone: tzinfo) -> datetime | None:
    try:
        return moment(datetime.strptime(value.strip(), _TIME).isoformat(), zone) if value else None  # noqa: DTZ007 - moment adds the zone
    except (ValueError, AttributeError):
        return moment(value, zone)

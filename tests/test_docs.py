"""The documentation tells the truth: every block runs, every name is there, every link leads somewhere."""

import ast
import asyncio
import contextlib
import inspect
import io
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from blockbuster import BlockBuster

from mnemic import importers
from mnemic.config import load_settings
from mnemic.events import Topic
from tools.reference_pages import FOLDER, pages

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NOT_RUN = re.compile(r"<!-- not run: (.+) -->")
# Only what installs, over the network and for minutes, may be shown without being run.
MAY_BE_SHOWN_ONLY = ("make demo", "pip install")
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


class Block(NamedTuple):
    language: str
    source: str
    line: int
    reason: str | None = None
    is_output: bool = False


def blocks(page: Path) -> Iterator[Block]:
    """Every fenced block of a page, with the reason in a comment before it why it is not run."""
    lines = page.read_text(encoding="utf-8").splitlines()
    opened: int | None = None
    closed = 0
    for number, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if opened is None:
            opened = number
            continue
        marked = NOT_RUN.fullmatch(lines[opened - 1])
        source = "\n".join(lines[opened + 1 : number]) + "\n"
        # What stands right below a block, with no word between, is what that block prints.
        is_output = closed > 0 and not any(lines[closed + 1 : opened])
        yield Block(lines[opened].removeprefix("```"), source, opened + 2, marked[1] if marked else None, is_output)
        opened, closed = None, number
    assert opened is None, f"{page}: a block is not closed"


class Reader:
    """Does what a page says, block by block, in one folder and one namespace."""

    def __init__(self, page: Path, folder: Path, runner: asyncio.Runner) -> None:
        self._page, self._folder, self._runner = page, folder, runner
        self._names: dict[str, Any] = {"__name__": "page"}
        self._output = ""

    def follow(self, block: Block) -> None:
        match block.language:
            case "python":
                self._output = self._run(block)
            case "sh":
                self._output = self._shell(block)
            case "text" if not block.is_output:
                return
            case "text":
                self._check_output(block)
            case "yaml":
                file = self._folder / "settings.yaml"
                file.write_text(block.source, encoding="utf-8")
                load_settings(file)
            case "toml":
                tomllib.loads(block.source)
            case _:
                pytest.fail(f"{self._page}:{block.line}: nobody knows how to check {block.language!r}")

    def _run(self, block: Block) -> str:
        # Blank lines in front, so that an error names the line of the page.
        source = "\n" * (block.line - 1) + block.source
        code = compile(source, str(self._page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            result = eval(code, self._names)
            if inspect.iscoroutine(result):
                self._runner.run(result)
        return out.getvalue()

    def _shell(self, block: Block) -> str:
        setup = f'set -euo pipefail; export PATH="{Path(sys.executable).parent}:$PATH" COLUMNS=100\n'
        run = subprocess.run(
            ["bash", "-c", setup + block.source], cwd=self._folder, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, f"{self._page}:{block.line}: {run.stderr}{run.stdout}"
        return run.stdout

    def _check_output(self, block: Block) -> None:
        """Each line that is shown was printed by the block before; `…` stands for anything."""
        printed = self._output.splitlines()
        for shown in block.source.splitlines():
            pattern = re.compile(".*".join(re.escape(part) for part in shown.strip().split("…")))
            assert any(pattern.fullmatch(line.strip()) for line in printed), (
                f"{self._page}:{block.line}: shows {shown!r}, but printed was\n{self._output}"
            )


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


WITH_STEPS = [page for page in PAGES if any(block.language != "text" for block in blocks(page))]


# The pages start processes and load the model for each command.
@pytest.mark.timeout(90)
@pytest.mark.parametrize("page", WITH_STEPS, ids=_name)
def test_every_block_of_a_page_does_what_it_says(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    _no_blocking_calls: BlockBuster,  # noqa: PT019 - switched off: a first use inside a loop imports there
) -> None:
    _no_blocking_calls.deactivate()
    monkeypatch.chdir(tmp_path)
    with asyncio.Runner() as runner:
        reader = Reader(page, tmp_path, runner)
        for block in blocks(page):
            if block.reason is None:
                reader.follow(block)


def test_only_installing_is_shown_without_being_run() -> None:
    shown = [(page, block) for page in PAGES for block in blocks(page) if block.reason is not None]
    assert [f"{page}:{b.line}" for page, b in shown if not b.source.startswith(MAY_BE_SHOWN_ONLY)] == []
    assert [f"{page}:{b.line}" for page, b in shown if len((b.reason or "").split()) < 3] == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_link_inside_leads_to_a_file(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize(("name", "text"), list(pages().items()), ids=list(pages()))
def test_a_generated_page_is_up_to_date(name: str, text: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == text, "run `make pages`"


def test_the_page_of_events_names_every_topic() -> None:
    page = (FOLDER / "events.md").read_text(encoding="utf-8")
    topics = [value for name, value in vars(Topic).items() if name.isupper()]
    assert [topic for topic in topics if f"`{topic}`" not in page] == []


def test_the_page_of_formats_names_every_format() -> None:
    page = (FOLDER / "import-formats.md").read_text(encoding="utf-8")
    assert [name for name in (*importers.FORMATS, importers.OWN) if f"| `{name}` |" not in page] == []


def test_the_index_leads_to_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    reached = {(index.parent / target).resolve() for target in LINK.findall(index.read_text(encoding="utf-8"))}
    assert [page for page in PAGES if page.name not in {"README.md", "index.md"} and page not in reached] == []


def test_a_line_that_was_not_printed_is_noticed(tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        reader = Reader(ROOT / "README.md", tmp_path, runner)
        reader.follow(Block("python", "print('one 1')\nprint('two')\n", 1))
        reader.follow(Block("text", "two\none …\n", 1, is_output=True))
        with pytest.raises(AssertionError, match="three"):
            reader.follow(Block("text", "three\n", 1, is_output=True))


def test_a_block_that_fails_is_noticed(tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        reader = Reader(ROOT / "README.md", tmp_path, runner)
        with pytest.raises(AssertionError, match=r"README\.md:7"):
            reader.follow(Block("sh", "false\n", 7))

"""Ask a folder of Markdown notes: `python examples/ask_notes.py FOLDER "question"`.

The notes go into notes.db beside you, one memory a section; a second run takes in only what changed.
"""

import asyncio
import sys
from pathlib import Path

import mnemic
from mnemic.importers import ImportOptions, parse
from mnemic.importers.ingest import ingest


async def main(folder: Path, question: str) -> None:
    async with mnemic.open_engine("notes.db") as memory:
        tally = await ingest(memory, parse(folder, "markdown", ImportOptions()), source="notes")
        print(f"{tally.added} sections added, {tally.updated} updated, {tally.unchanged} unchanged")

        for hit in await memory.search(question, limit=3, where={"source": "notes"}):
            print(f"{hit.score:.2f}  {hit.metadata['path']}: {hit.content.splitlines()[0]}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))

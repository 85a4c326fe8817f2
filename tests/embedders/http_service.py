"""A real HTTP service in OpenAI's style, whose answers a test may script."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from mnemic.embedders.hashing import Hashing

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Answer:
    """One scripted answer; ``change`` edits the right rows of vectors."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    change: Callable[[Rows], Rows] = lambda rows: rows


class Service(ThreadingHTTPServer):
    """Embeds with the hashing embedder; notes each request's body and headers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: list[Answer] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        self.released.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def rows(self, texts: list[str]) -> Rows:
        vectors = asyncio.run(Hashing().embed(texts)).tolist()
        return [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]


class _Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append({"path": self.path, **body})
        self.server.headers.append(dict(self.headers))
        self.server.released.wait()
        answer = self.server.script.pop(0) if self.server.script else Answer()
        content = answer.body
        if content is None:
            content = json.dumps({"data": answer.change(self.server.rows(body["input"]))}).encode()
        self.send_response(answer.status)
        for name, value in {**answer.headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that http.server has
        """Keep the test's output clean."""


@contextmanager
def running() -> Iterator[Service]:
    with Service() as service:
        thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield service
        finally:
            service.released.set()
            service.shutdown()
            thread.join()

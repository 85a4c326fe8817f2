"""Any HTTP service that embeds in OpenAI's style."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import httpx
import numpy as np

from mnemic.embedders.checked import checked
from mnemic.errors import ConfigurationError, EmbedderError
from mnemic.ports import Embedder
from mnemic.types import Vector

__all__ = ["OpenAI"]

_BUSY: Final = (429, 503)
_ATTEMPTS: Final = 4


class OpenAI(Embedder):
    """Asks ``POST {url}/embeddings``; a blank text is not sent and has a row of zeros.

    A busy service (429, 503) is asked again after its ``Retry-After``, within a bound; nothing else is repeated here.

    Args:
        url: Base address, such as ``https://api.openai.com/v1``.
        model: Name of the model at the service.
        dim: Numbers in one of its vectors.
        api_key: Sent as bearer token; None sends none.
        request_dim: Send ``dim`` along, for models that can shorten their vectors.
        max_tokens: What the model sees of a text.
        batch_size: Texts in one request, at most.
        timeout_s: Longest silence of the service.
        patience_s: Longest time to wait for a busy service, all its pauses together.

    Raises:
        ConfigurationError: An argument is impossible.
    """

    precision = "float32"
    batch_invariant = False  # nothing is known of the service's batches

    def __init__(
        self,
        *,
        url: str,
        model: str,
        dim: int,
        api_key: str | None = None,
        request_dim: bool = False,
        max_tokens: int = 8191,
        batch_size: int = 32,
        timeout_s: float = 10.0,
        patience_s: float = 20.0,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ConfigurationError(f"embedding.url is {url!r}, must begin with http:// or https://")
        if min(dim, batch_size) < 1:
            raise ConfigurationError(f"embedding.dimension {dim} and batch_size {batch_size} must be at least 1")
        self.model_id = f"openai:{model}:{dim}"
        self.dim = dim
        self.max_tokens = max_tokens
        self._url = f"{url.rstrip('/')}/embeddings"
        self._request: dict[str, Any] = {"model": model, "encoding_format": "float"}
        if request_dim:
            self._request["dimensions"] = dim
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._batch_size = batch_size
        self._timeout_s = timeout_s
        self._patience_s = patience_s
        self._client: httpx.AsyncClient | None = None

    async def open(self) -> None:
        """Prepare the connection pool; no request is made."""
        if self._client is None:
            # In a thread, since the certificates are read from files.
            self._client = await asyncio.to_thread(
                httpx.AsyncClient, headers=self._headers, timeout=self._timeout_s, follow_redirects=False
            )

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vector:
        """Embed texts in requests of at most ``batch_size``.

        Raises:
            EmbedderError: The service did not answer, refused, or returned another number of vectors.
            DimensionError: It returned vectors of another size, or not finite.
        """
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        sent = [index for index, text in enumerate(texts) if text.strip()]
        for start in range(0, len(sent), self._batch_size):
            batch = sent[start : start + self._batch_size]
            vectors[batch] = checked(await self._ask([texts[index] for index in batch]), len(batch), self.dim)
        return vectors

    async def _ask(self, texts: list[str]) -> list[Any]:
        body, patience_s, attempt = {**self._request, "input": texts}, self._patience_s, 1
        response = await self._post(body)
        while response.status_code in _BUSY and attempt < _ATTEMPTS:
            pause_s = _pause_s(response, attempt)
            patience_s -= pause_s
            if patience_s < 0:
                break
            await asyncio.sleep(pause_s)
            response = await self._post(body)
            attempt += 1
        if response.status_code != httpx.codes.OK:
            raise EmbedderError(f"{self._url} answered {response.status_code}; check its address, key, model and quota")
        return _in_order(response)

    async def _post(self, body: dict[str, Any]) -> httpx.Response:
        await self.open()
        if self._client is None:
            raise EmbedderError("the embedder was closed while it worked; open it again")
        try:
            return await self._client.post(self._url, json=body)
        except httpx.HTTPError as error:
            raise EmbedderError(f"{self._url} did not answer ({type(error).__name__}); check that it runs") from error


def _pause_s(response: httpx.Response, attempt: int) -> float:
    asked = response.headers.get("Retry-After", "")
    return float(asked) if asked.isdecimal() else 0.25 * 2**attempt


def _in_order(response: httpx.Response) -> list[Any]:
    """Return the vectors of an answer in the order of the texts, which is that of the index and not of the list."""
    try:
        by_index = {row["index"]: row["embedding"] for row in response.json()["data"]}
        return [by_index[index] for index in range(len(by_index))]
    except (KeyError, TypeError, ValueError) as error:
        raise EmbedderError(f"{response.url} answered with something else than embeddings") from error

"""A service in OpenAI's style is asked over real HTTP, and trusted with nothing."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest

from mnemic.embedders.hashing import Hashing
from mnemic.embedders.openai import OpenAI
from mnemic.errors import ConfigurationError, DimensionError, EmbedderError, MnemicError
from mnemic.testing import requirement
from tests.embedders.http_service import Answer, Rows, Service

pytestmark = pytest.mark.embedding
SECRET, TEXT = "key-of-a-customer", "a private plan"


@pytest.fixture
async def embedder(service: Service) -> AsyncIterator[OpenAI]:
    embedder = OpenAI(url=service.url, model="hashing", dim=64, api_key=SECRET, batch_size=4, timeout_s=5)
    yield embedder
    await embedder.close()


@requirement("FR-009")
async def test_texts_go_out_in_batches_with_model_and_key_and_blank_ones_stay_here(
    service: Service, embedder: OpenAI
) -> None:
    texts = ["one", " ", "two", "three", "", "four", "five"]
    np.testing.assert_allclose(await embedder.embed(texts), await Hashing().embed(texts), atol=1e-6)
    assert [request["input"] for request in service.requests] == [["one", "two", "three", "four"], ["five"]]
    assert {request["path"] for request in service.requests} == {"/v1/embeddings"}
    assert {request["model"] for request in service.requests} == {"hashing"}
    assert {headers["Authorization"] for headers in service.headers} == {f"Bearer {SECRET}"}
    assert "dimensions" not in service.requests[0]


@requirement("FR-009")
async def test_the_dimension_is_sent_where_that_is_asked_for_and_no_key_where_there_is_none(service: Service) -> None:
    embedder = OpenAI(url=f"{service.url}/", model="hashing", dim=64, request_dim=True)
    await embedder.embed(["one"])
    await embedder.close()
    assert service.requests[0]["dimensions"] == 64
    assert "Authorization" not in service.headers[0]


@requirement("D25")
async def test_vectors_are_put_in_the_order_of_their_index(service: Service, embedder: OpenAI) -> None:
    service.script = [Answer(change=lambda rows: rows[::-1])]
    texts = ["one", "two", "three"]
    np.testing.assert_allclose(await embedder.embed(texts), await Hashing().embed(texts), atol=1e-6)


async def test_vectors_of_another_length_are_normalised(service: Service, embedder: OpenAI) -> None:
    service.script = [Answer(change=lambda rows: _with_vectors(rows, lambda v: [7 * x for x in v]))]
    np.testing.assert_allclose(await embedder.embed(["one"]), await Hashing().embed(["one"]), atol=1e-6)


@requirement("D25")
@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda rows: [], EmbedderError),
        (lambda rows: rows[:1], EmbedderError),
        (lambda rows: rows[1:], EmbedderError),
        (lambda rows: [rows[0], rows[0]], EmbedderError),
        (lambda rows: [{"index": row["index"]} for row in rows], EmbedderError),
        (lambda rows: _with_vectors(rows, lambda v: v[1:]), DimensionError),
        (lambda rows: _with_vectors(rows, lambda v: [float("nan"), *v[1:]]), DimensionError),
        (lambda rows: _with_vectors(rows, lambda v: [1e300, *v[1:]]), DimensionError),
        (lambda rows: _with_vectors(rows, lambda v: "vector"), DimensionError),
    ],
)
async def test_a_nonsensical_answer_is_a_typed_error_without_the_text(
    service: Service, embedder: OpenAI, change: Callable[[Rows], Rows], error: type[MnemicError]
) -> None:
    service.script = [Answer(change=change)]
    with pytest.raises(error) as failure:
        await embedder.embed([TEXT, "another"])
    assert TEXT not in str(failure.value)


@requirement("D25")
@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"data": null}', b"\xff\xfe"])
async def test_an_answer_that_is_no_table_of_embeddings_is_a_typed_error(
    service: Service, embedder: OpenAI, body: bytes
) -> None:
    service.script = [Answer(body=body)]
    with pytest.raises(EmbedderError, match="something else"):
        await embedder.embed([TEXT])


@requirement("FR-009")
@pytest.mark.parametrize("status", [301, 400, 401, 404, 500])
async def test_a_refusal_is_not_repeated_and_tells_neither_key_nor_text(
    service: Service, embedder: OpenAI, status: int
) -> None:
    service.script = [Answer(status, {"Location": f"{service.url}/embeddings"}, TEXT.encode())]
    with pytest.raises(EmbedderError, match=str(status)) as failure:
        await embedder.embed([TEXT])
    assert len(service.requests) == 1
    assert not any(word in str(failure.value) for word in (SECRET, TEXT))


@requirement("FR-009")
async def test_a_busy_service_is_asked_again_when_it_said(service: Service, embedder: OpenAI) -> None:
    service.script = [Answer(429, {"Retry-After": "0"}), Answer(503, {"Retry-After": "0"})]
    assert (await embedder.embed(["one"])).any()
    assert len(service.requests) == 3


@requirement("FR-009")
async def test_a_busy_service_is_asked_a_bounded_number_of_times(service: Service, embedder: OpenAI) -> None:
    service.script = [Answer(429, {"Retry-After": "0"})] * 10
    with pytest.raises(EmbedderError, match="429"):
        await embedder.embed(["one"])
    assert len(service.requests) == 4


@requirement("FR-009")
async def test_a_service_that_is_busy_for_longer_than_our_patience_is_an_error_at_once(
    service: Service, embedder: OpenAI
) -> None:
    service.script = [Answer(429, {"Retry-After": "3600"})]
    with pytest.raises(EmbedderError, match="429"):
        await embedder.embed(["one"])
    assert len(service.requests) == 1


@requirement("FR-009")
async def test_without_a_number_of_seconds_the_pause_is_ours(service: Service) -> None:
    service.script = [Answer(429, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"})]
    embedder = OpenAI(url=service.url, model="hashing", dim=64, patience_s=0.4)
    with pytest.raises(EmbedderError, match="429"):
        await embedder.embed(["one"])
    await embedder.close()


@requirement("D25")
async def test_a_service_that_does_not_answer_in_time_is_a_typed_error(service: Service) -> None:
    service.released.clear()
    embedder = OpenAI(url=service.url, model="hashing", dim=64, timeout_s=0.1)
    with pytest.raises(EmbedderError, match="ReadTimeout"):
        await embedder.embed(["one"])
    await embedder.close()


@requirement("FR-009")
async def test_a_service_that_is_not_there_is_a_typed_error(service: Service) -> None:
    service.shutdown()
    service.server_close()
    embedder = OpenAI(url=service.url, model="hashing", dim=64)
    with pytest.raises(EmbedderError, match="ConnectError"):
        await embedder.embed(["one"])
    await embedder.close()


@requirement("FR-009")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"url": "ftp://example.org"}, "embedding.url"), ({"dim": 0}, "dimension 0"), ({"batch_size": 0}, "batch_size 0")],
)
def test_an_impossible_argument_is_a_configuration_error(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        OpenAI(**{"url": "http://localhost", "model": "m", "dim": 3, **arguments})


def _with_vectors(rows: Rows, change: Callable[[list[float]], object]) -> Rows:
    return [{**row, "embedding": change(row["embedding"])} for row in rows]

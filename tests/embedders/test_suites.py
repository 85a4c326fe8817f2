"""Every embedder obeys the port."""

import pytest

from mnemic.embedders.cached import CachedEmbedder
from mnemic.embedders.hashing import Hashing
from mnemic.embedders.minilm import MiniLM
from mnemic.embedders.openai import OpenAI
from mnemic.embedders.static import Static
from mnemic.ports import Embedder
from mnemic.testing.embedder_suite import EmbedderSuite, InMemoryEmbeddingCache
from tests.embedders.http_service import Service

pytestmark = pytest.mark.embedding


@pytest.mark.usefixtures("loaded_minilm")
class TestMiniLM(EmbedderSuite):
    def make(self) -> Embedder:
        return MiniLM()


class TestStatic(EmbedderSuite):
    def make(self) -> Embedder:
        return Static()


class TestHashing(EmbedderSuite):
    def make(self) -> Embedder:
        return Hashing()


class TestCached(EmbedderSuite):
    def make(self) -> Embedder:
        return CachedEmbedder(Hashing(), InMemoryEmbeddingCache())


class TestOpenAI(EmbedderSuite):
    @pytest.fixture(autouse=True)
    def _service(self, service: Service) -> None:
        self._url = service.url

    def make(self) -> Embedder:
        return OpenAI(url=self._url, model="hashing", dim=64)

"""Candidates become ranked hits."""

from mnemic.retrieval.late import TokensOf
from mnemic.retrieval.profiles import PROFILES, check_profile, formula
from mnemic.retrieval.query import ranking_query
from mnemic.retrieval.search import EmbedTexts, Retriever, SearchRequest
from mnemic.retrieval.settings import Decay, Ranking

__all__ = [
    "PROFILES",
    "Decay",
    "EmbedTexts",
    "Ranking",
    "Retriever",
    "SearchRequest",
    "TokensOf",
    "check_profile",
    "formula",
    "ranking_query",
]

"""Memories in dictionaries: the oracle of every other provider, gone with the process."""

from mnemic.providers.inmemory.provider import InMemoryProvider

__all__ = ["InMemoryProvider"]

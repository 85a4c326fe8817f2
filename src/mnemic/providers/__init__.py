"""Places that keep memories: one adapter per backend."""

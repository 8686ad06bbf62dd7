"""Everything that can go wrong inside `memory`; library errors are translated into these once."""

from __future__ import annotations


class MemoryFault(Exception):
    """The memory could not do what was asked."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (self.__doc__ or "").strip().splitlines()[0])


class StoreUnavailable(MemoryFault):
    """The database cannot be used right now (full disk, read-only, locked, not a database)."""


class SchemaMismatch(StoreUnavailable):
    """The database was written by another version of Oboete; run `oboete migrate`."""


class LeaseHeld(MemoryFault):
    """Another Oboete process is serving this database."""


class InvalidVector(MemoryFault):
    """An embedding has the wrong size, is not finite, or has no length."""


class EmbedderUnavailable(MemoryFault):
    """The embedding model cannot be reached or loaded, so nothing was embedded."""


class RerankerUnavailable(MemoryFault):
    """The cross-encoder could not be asked, or its answer was unusable."""


class EmbeddingFailed(MemoryFault):
    """The embedding model refused this one text; others of its batch are unaffected."""


class NotPermitted(MemoryFault):
    """This is not yours to change, or it does not exist."""

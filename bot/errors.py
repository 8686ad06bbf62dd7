"""Everything that can go wrong in the conversation core, apart from the memory's own errors."""

from __future__ import annotations


class BotFault(Exception):
    """Oboete could not do what was asked.

    `fix` is one sentence that tells a person what to do about it, or empty.
    """

    def __init__(self, message: str = "", *, fix: str = "") -> None:
        super().__init__(message or (self.__doc__ or "").strip().splitlines()[0])
        self.fix = fix


class BadSettings(BotFault):
    """Settings are missing or wrong; every problem is listed at once."""


class ModelUnavailable(BotFault):
    """The language model cannot be reached; the request may be tried again later."""


class ModelMissing(ModelUnavailable):
    """The server is there but does not have this model."""


class ModelTimeout(ModelUnavailable):
    """The language model did not answer in time."""


class BadModelAnswer(BotFault):
    """The language model's answer did not fit the schema, also after one retry."""


class PlatformUnavailable(BotFault):
    """The chat platform cannot be reached."""


class PlatformRefused(BotFault):
    """The chat platform refused a call for good (missing permission, unknown channel)."""


class UnsafeQuery(BotFault):
    """This statement is not a plain SELECT over the known tables."""


class QueryFailed(BotFault):
    """The database could not answer, or not within the limits of time and memory."""


class DatabaseRefused(BotFault):
    """This database cannot be registered."""


class ToolRefused(BotFault):
    """This token is not valid (any more)."""

"""Why a file could not be read. Every library's own error ends up as one of these."""

from __future__ import annotations

from enum import StrEnum

from memory.errors import MemoryFault


class Reason(StrEnum):
    """Stable codes; a translation catalogue may use them as keys."""

    PASSWORD = "password"  # noqa: S105 - a reason, not a secret
    SCANNED = "scanned"
    EMPTY = "empty"
    GARBAGE = "garbage"
    CORRUPT = "corrupt"
    TOO_BIG = "too_big"
    UNSUPPORTED = "unsupported"
    TIMED_OUT = "timed_out"


MESSAGES: dict[Reason, str] = {
    Reason.PASSWORD: "This file is protected with a password; remove it and send the file again.",
    Reason.SCANNED: "This file has only pictures of text and no text layer, so I cannot read it.",
    Reason.EMPTY: "There is no text in this file.",
    Reason.GARBAGE: "The text inside this file is stored in a way that comes out as garbage.",
    Reason.CORRUPT: "This file is damaged or is not what its name says.",
    Reason.TOO_BIG: "This file is too big to read, or unpacks to something too big.",
    Reason.UNSUPPORTED: "I cannot read this kind of file.",
    Reason.TIMED_OUT: "Reading this file took too long, so I stopped.",
}


class UnreadableDocument(MemoryFault):
    """The file gave no usable text; `reason` says why and nothing of it may be stored."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(MESSAGES[reason])
        self.reason = reason

    def __reduce__(self) -> tuple[type[UnreadableDocument], tuple[Reason]]:
        # Exceptions rebuild themselves from their message by default; this one takes a reason.
        return type(self), (self.reason,)

"""The log: one id per message from event to reply, as text or as JSON lines, and nobody's words.

A traceback names the kind of an error and where it happened. What an error of a library says may
hold somebody's words (pydantic quotes its input), so only our own sentences are written out.
"""

from __future__ import annotations

import contextlib
import json
import logging
import traceback
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from bot.errors import BotFault
from memory.errors import MemoryFault

_current: ContextVar[str] = ContextVar("oboete_message", default="-")

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


@contextlib.contextmanager
def following(message_id: str) -> Iterator[None]:
    """Every line logged inside the block, and in tasks begun there, carries this id."""
    token = _current.set(message_id)
    try:
        yield
    finally:
        _current.reset(token)


class WithMessage(logging.Filter):
    """Gives each record `message_id`, `-` outside of any message."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.message_id = _current.get()
        return True


class TextFormatter(logging.Formatter):
    """One line for a person, times in UTC."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s [%(message_id)s] %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        return _instant(record)

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802
        return discreet(ei)


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        data: dict[str, Any] = {
            "time": _instant(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message_id": getattr(record, "message_id", "-"),
            "message": record.getMessage(),
        }
        if record.exc_info:
            data["error"] = discreet(record.exc_info)
        return json.dumps(data, ensure_ascii=False)


def _instant(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def discreet(raised: _ExcInfo) -> str:
    """A traceback with the error's kind, and its words only where they are ours."""
    kind, error, trace = raised
    if kind is None or error is None:
        return ""
    frames = "".join(traceback.format_list(traceback.extract_tb(trace)))
    said = f": {error}" if isinstance(error, BotFault | MemoryFault) else ""
    return f"{frames}{kind.__module__}.{kind.__qualname__}{said}"


def configure(level: str, style: str, handler: logging.Handler) -> None:
    """Send the log to `handler`; `style` is `text` or `json`."""
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
    handler.addFilter(WithMessage())
    logging.basicConfig(level=level.upper(), handlers=[handler])
    # `bot.jobs` logs what jobs do; the scheduler would tell of every run, wait and stop besides
    logging.getLogger("apscheduler").setLevel(logging.CRITICAL)

"""Text and turns as model servers take them."""

from __future__ import annotations

from collections.abc import Sequence

from bot.messages import Turn
from memory.types import Role


def well_formed(text: str) -> str:
    """`text` as valid Unicode: surrogate pairs joined, lone surrogates replaced by U+FFFD.

    A lone surrogate has no UTF-8 form, so one in a prompt would fail the whole request.
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def wire_messages(turns: Sequence[Turn]) -> list[dict[str, str]]:
    """Turns as `role` and `content`; a speaker's name stands before what they said.

    Ollama has no field for a name, and OpenAI's takes ASCII only, so it goes into the content.
    """
    return [{"role": turn.role, "content": well_formed(_content(turn))} for turn in turns]


def _content(turn: Turn) -> str:
    name = " ".join(turn.name.split())
    return f"{name}: {turn.content}" if name and turn.role == Role.USER else turn.content

"""`verify_dialog` makes a conversation a test: each line said, and what its answer must be like."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from adapters.console_platform import dm
from bot import app as application
from bot import app_terminal
from bot.settings import Settings
from memory.types import Audience, Person


@dataclass(frozen=True, slots=True)
class Lacks:
    """The answer must not contain any of the words."""

    words: tuple[str, ...]


def lacks(*words: str) -> Lacks:
    return Lacks(words)


Expected = str | Lacks | tuple["str | Lacks", ...]
"""Words that the answer must contain, words that it must not, or several of these."""


async def converse(
    settings: Settings,
    lines: Sequence[str],
    *,
    user: str = "taro",
    channel: str | None = None,
    private: bool = False,
) -> list[str]:
    """Say the lines in one run of the program, as from a pipe; gives the answer to each.

    Opening and closing everything around it, each call is like a process of its own.
    """
    person = Person("console", "local", user)
    place = Audience("console", "local", channel) if channel else None
    out = io.StringIO()
    source = io.StringIO("".join(f"{line}\n" for line in lines))
    async with application.opened(settings) as app:
        await app_terminal.chat(app, person, place, private=private, source=source, out=out)
    answers = out.getvalue().split("\n\n")
    assert answers.pop() == "", "every answer ends with a blank line"
    assert len(answers) == len(lines), answers
    assert str(dm(person)) == f"console:local:@{user}"
    return answers


async def verify_dialog(
    settings: Settings, dialog: Sequence[tuple[str, Expected]], *, user: str = "taro"
) -> None:
    """Hold the conversation; fails at the first answer that is not as expected."""
    answers = await converse(settings, [said for said, _ in dialog], user=user)
    for (said, expected), answer in zip(dialog, answers, strict=True):
        for each in expected if isinstance(expected, tuple) else (expected,):
            if isinstance(each, str):
                assert each in answer, f"said: {said}\nanswered: {answer}\nwithout: {each}"
                continue
            for word in each.words:
                assert word not in answer, f"said: {said}\nanswered: {answer}\nwith: {word}"

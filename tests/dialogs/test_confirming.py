"""Yes is an answer to what was asked just before, by the one who was asked, and to nothing else."""

from __future__ import annotations

import pytest

from bot.settings import Settings
from tests.dialogs.conversation import converse, lacks, verify_dialog

NOTHING = "I know nothing about you yet."


@pytest.mark.parametrize(
    ("words", "yes"),
    [
        ("forget everything", "yes"),
        ("forget me", "Yes, please."),
        ("/forget everything", "yes!"),
        ("私のことを忘れて", "はい"),
        ("全部忘れて", "はい、お願いします。"),
    ],
)
async def test_yes_confirms_what_was_asked(settings: Settings, words: str, yes: str) -> None:
    await verify_dialog(
        settings,
        [
            ("I live in Osaka.", "Remembered"),
            (words, "forget everything --yes"),
            (yes, "忘れました" if yes.startswith("はい") else "Forgotten: 1 fact"),
            ("/facts", NOTHING),
        ],
    )


@pytest.mark.parametrize("between", ["Hello!", "/facts", "no", "いいえ"])
async def test_yes_after_anything_else_confirms_nothing(settings: Settings, between: str) -> None:
    await verify_dialog(
        settings,
        [
            ("I live in Osaka.", "Remembered"),
            ("forget everything", "--yes"),
            (between, lacks("Forgotten")),
            ("yes", lacks("Forgotten")),
            ("/facts", "Osaka"),
        ],
    )


async def test_yes_forgets_the_facts_that_were_shown_and_no_more(settings: Settings) -> None:
    await verify_dialog(
        settings,
        [
            ("I live in Osaka.", "Remembered"),
            ("I like Osaka castle.", "Remembered"),
            ("I like figs.", "Remembered"),
            ("forget Osaka", "these 2 things"),
            ("yes", "Forgotten: 2 facts"),
            ("yes", lacks("Forgotten")),
            ("/facts", "I like figs."),
        ],
    )


async def test_yes_somewhere_else_confirms_nothing(settings: Settings) -> None:
    await converse(settings, ["I live in Osaka.", "forget everything"])
    await converse(settings, ["yes"], channel="general")
    await converse(settings, ["yes"], user="hanako")
    (listed,) = await converse(settings, ["/facts"])
    assert "Osaka" in listed

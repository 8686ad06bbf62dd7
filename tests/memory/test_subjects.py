"""Whom a fact is about is not always told from its words; that must not make two facts of one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes import GENERAL, HANAKO, TARO, Mind, new_fact


async def remembered(mind: Mind, text: str, **changed: Any) -> bool:
    """True when what Taro says is known already."""
    message = await mind.hear(text, audience=GENERAL)
    (outcome,) = await mind.memory.remember([new_fact(message, **changed)])
    return outcome.known


@pytest.mark.parametrize(
    ("first", "subject", "second", "other"),
    [
        ("Rugby is played by some men", "Rugby", "some men play rugby", TARO),
        ("Bloomberg opened the museum", "Bloomberg", "Michael Bloomberg opened the museum",
         "Michael Bloomberg"),
        ("子供がカップルを追いかけている", "子供", "カップルが子供に追いかけられている", TARO),
    ],
)  # fmt: skip
async def test_one_fact_read_with_two_subjects_is_one(
    mind: Mind, first: str, subject: str, second: str, other: object
) -> None:
    language = "ja" if "子" in first else "en"
    assert not await remembered(mind, first, subject=subject, language=language)
    mind.embedder.answers[second] = mind.embedder.vector(first)  # the model finds them alike
    assert await remembered(mind, second, subject=other, language=language)


async def test_what_is_said_of_another_person_is_another_fact(mind: Mind) -> None:
    assert not await remembered(mind, "likes cats very much", subject=TARO)
    assert not await remembered(mind, "likes cats  very much", subject=HANAKO)
    assert await remembered(mind, "Likes cats very much", subject=HANAKO)


async def test_roles_that_are_swapped_stay_two_facts(mind: Mind) -> None:
    assert not await remembered(mind, "Tom beat Bob at chess", subject="Tom")
    swapped = "Bob beat Tom at chess"
    mind.embedder.answers[swapped] = mind.embedder.vector("Tom beat Bob at chess")
    assert not await remembered(mind, swapped, subject="Bob")

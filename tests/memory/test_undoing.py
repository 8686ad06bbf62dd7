"""A forget that is taken back brings back its own words, and nothing that went since."""

from __future__ import annotations

import pytest

from memory.long_term import Actor
from memory.types import Fact, Message, Person, Readable
from tests.fakes import GENERAL, HANAKO, TARO, Mind, new_fact

HERE = Readable.of(GENERAL)
KEN = Person("console", "local", "ken")
BOTH = [
    ("Taro likes figs. ", "Hanako likes Zanzibarqx."),
    ("太郎はいちじくが好きです。", "花子は竜宮城が好きです。"),
]


async def two_facts(mind: Mind, first: str, second: str) -> tuple[Message, Fact, Fact]:
    """What Ken said of Taro and of Hanako in one message."""
    message = await mind.hear(first + second, platform_id="m", audience=GENERAL, author=KEN)
    outcome = await mind.memory.remember(
        [
            new_fact(message, first.strip(), subject=TARO),
            new_fact(message, second, subject=HANAKO),
        ]
    )
    return message, outcome[0].fact, outcome[1].fact


async def stored(mind: Mind) -> str | None:
    found = await mind.memory.find_message(GENERAL, "m")
    return found.text if found else None


async def known(mind: Mind) -> list[str]:
    return [fact.text for fact in await mind.memory.facts_about(KEN, HERE, past=True)]


@pytest.mark.parametrize(("first", "second"), BOTH)
async def test_what_somebody_else_forgot_of_the_same_message_stays_gone(
    mind: Mind, first: str, second: str
) -> None:
    _, of_taro, of_hanako = await two_facts(mind, first, second)
    mine = await mind.memory.forget([of_taro.id], Actor(TARO), HERE)
    await mind.memory.forget([of_hanako.id], Actor(HANAKO), HERE)
    assert await mind.memory.restore(mine) == 1
    assert await stored(mind) == first + " " * len(second)
    assert await known(mind) == [first.strip()]
    assert await mind.problems() == []


@pytest.mark.parametrize(("first", "second"), BOTH)
async def test_two_forgets_of_one_message_are_taken_back_one_after_the_other(
    mind: Mind, first: str, second: str
) -> None:
    _, of_taro, of_hanako = await two_facts(mind, first, second)
    one = await mind.memory.forget([of_taro.id], Actor(KEN), HERE)
    other = await mind.memory.forget([of_hanako.id], Actor(KEN), HERE)
    assert await mind.memory.restore(other) == 1
    assert await mind.memory.restore(one) == 1
    assert await stored(mind) == first + second
    assert sorted(await known(mind)) == sorted([first.strip(), second])


@pytest.mark.parametrize("what", ["deleted", "edited", "all said", "everything", "channel"])
async def test_nothing_comes_back_that_its_author_took_back_since(mind: Mind, what: str) -> None:
    message, of_taro, _ = await two_facts(mind, *BOTH[0])
    mine = await mind.memory.forget([of_taro.id], Actor(TARO), HERE)
    match what:
        case "deleted":
            await mind.memory.source_deleted(GENERAL, "m")
        case "edited":
            await mind.hear(
                "Never mind.", platform_id="m", audience=GENERAL, author=KEN, revision="2"
            )
        case "all said":
            later = message.sent_at.replace(year=message.sent_at.year + 1)
            await mind.memory.forget_said(KEN, message.sent_at, later)
        case "everything":
            await mind.memory.forget_person(KEN)
        case _:
            await mind.memory.forget_place(GENERAL, Actor(KEN, is_admin=True))
    assert await mind.memory.restore(mine) == 0
    assert "figs" not in (await stored(mind) or "")
    assert await known(mind) == []
    assert not any("figs" in message.text for message in mine.undo), "nor is it kept in memory"
    assert await mind.problems() == []


async def test_nothing_comes_back_about_somebody_who_was_forgotten_since(mind: Mind) -> None:
    _, of_taro, of_hanako = await two_facts(mind, *BOTH[0])
    mine = await mind.memory.forget([of_taro.id, of_hanako.id], Actor(KEN), HERE)
    await mind.memory.forget_person(HANAKO)
    assert await mind.memory.restore(mine) == 1
    assert await known(mind) == ["Taro likes figs."]
    assert "Zanzibarqx" not in (await stored(mind) or "")


async def test_a_message_forgotten_whole_by_its_author_does_not_come_back_in_part(
    mind: Mind,
) -> None:
    said = await mind.hear("Taro likes figs.", platform_id="m", audience=GENERAL, author=KEN)
    [told] = await mind.memory.remember([new_fact(said, "Taro likes figs.", subject=TARO)])
    mine = await mind.memory.forget([told.fact.id], Actor(TARO), HERE)
    assert await stored(mind) == "", "nothing of it is left for its author to forget"
    later = said.sent_at.replace(year=said.sent_at.year + 1)
    await mind.memory.forget_said(KEN, said.sent_at, later)
    assert await mind.memory.restore(mine) == 0
    assert await stored(mind) == ""


async def test_a_late_edit_is_older_than_one_that_took_it_back(mind: Mind) -> None:
    for text, revision in (("I like tea.", "1"), ("I like tea.", "3"), ("I like gin.", "2")):
        await mind.hear(text, platform_id="m", audience=GENERAL, author=KEN, revision=revision)
    assert await stored(mind) == "I like tea."


async def test_support_comes_back_to_a_fact_that_was_itself_forgotten_and_brought_back(
    mind: Mind,
) -> None:
    both, of_taro, of_hanako = await two_facts(
        mind, "花子は竜宮城が好きで、", "いちじくも好きです。"
    )
    mind.clock.advance(minutes=1)
    again = await mind.hear(of_hanako.text, platform_id="n", audience=GENERAL, author=KEN)
    await mind.memory.remember([new_fact(again, of_hanako.text, subject=HANAKO)])
    whole = await mind.memory.forget_said(KEN, both.sent_at, again.sent_at)
    assert [id_ for id_, _ in whole.undo_evidence] == [of_hanako.id], "it rests on the other too"
    gone = await mind.memory.forget([of_hanako.id], Actor(KEN), HERE)
    assert await mind.memory.restore(gone) == 1
    assert await mind.memory.restore(whole) == 1
    (back,) = [
        fact for fact in await mind.memory.facts_about(HANAKO, HERE) if fact.text == of_hanako.text
    ]
    assert {item.message_id for item in back.evidence} == {both.id, again.id}
    assert of_taro.text in await known(mind)
    assert await mind.problems() == []

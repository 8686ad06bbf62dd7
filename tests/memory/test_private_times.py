"""A private place that becomes public does not widen what was said in it before."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta
from typing import Any

import pytest

from memory.directory import Directory
from memory.long_term import Actor
from memory.store import reminders, summaries
from memory.store.reminders import Kind, NewReminder
from memory.store.text_keys import text_key
from memory.types import Audience, Fact, Readable, Ref
from memory.types import Kind as Record
from tests.fakes import GENERAL, HANAKO, SECRET, TARO, TARO_DM, Mind, new_fact, new_message

HANAKO_DM = Audience("console", "local", "@hanako")
ADMIN = Actor(TARO, is_admin=True)


async def opened(mind: Mind, *, public: bool, place: Audience = SECRET) -> None:
    await mind.directory.change_place(place, public=public)


async def tell(mind: Mind, text: str, **changed: Any) -> Fact:
    fact: Fact = await mind.state(text, said={"audience": SECRET, **changed})
    return fact


async def known_to_hanako(mind: Mind) -> set[str]:
    """What somebody finds who was never in the private place."""
    return await found(mind, await mind.directory.readable_in_dm(HANAKO, HANAKO_DM))


async def found(mind: Mind, readable: Readable) -> set[str]:
    """The facts that every way to read gives, which must agree."""
    await mind.embedding.drain()
    hits = await mind.memory.recall("box", readable, 50, kinds=[Record.FACT])
    listed = {fact.text for fact in await mind.memory.facts_about(TARO, readable)}
    said = {message.text for message in await mind.memory.messages_of(TARO, readable)}
    assert {hit.text for hit in hits} == listed == said
    return listed


@pytest.fixture
async def place(mind: Mind) -> Audience:
    """A private place in which Taro is."""
    await opened(mind, public=False)
    await mind.directory.join(SECRET, TARO)
    return SECRET


async def test_only_what_is_said_later_is_widened(mind: Mind, place: Audience) -> None:
    await tell(mind, "The red box is mine")
    await opened(mind, public=True)
    assert await known_to_hanako(mind) == set()
    await tell(mind, "The green box is mine")
    assert await known_to_hanako(mind) == {"The green box is mine"}
    assert await found(mind, await mind.directory.readable_in(place)) == {"The green box is mine"}
    assert await mind.problems() == []


async def test_those_who_are_in_it_when_it_is_private_again_read_all(
    mind: Mind, place: Audience
) -> None:
    await tell(mind, "The red box is mine")
    await opened(mind, public=True)
    await tell(mind, "The green box is mine")
    await opened(mind, public=False)
    both = {"The red box is mine", "The green box is mine"}
    assert await found(mind, await mind.directory.readable_in_dm(TARO, TARO_DM)) == both
    assert await found(mind, await mind.directory.readable_in(place)) == both
    assert await known_to_hanako(mind) == set()


@pytest.mark.parametrize("seed", range(12))
async def test_it_holds_through_any_number_of_changes_and_restarts(
    mind: Mind, place: Audience, seed: int
) -> None:
    chance = random.Random(seed)
    # what was said at all, and what was said in public; and whether this process saw it public
    is_public, seen_public, kept, wide = False, False, set(), set()
    for number in range(40):
        match chance.choice(["say", "say", "say", "turn", "restart"]):
            case "say":
                text = f"The box {number} is number {number}"
                await tell(mind, text, sent_at=mind.clock())
                kept.add(text)
                if is_public:
                    wide.add(text)
            case "turn":
                is_public = not is_public
                await opened(mind, public=is_public)
                if not is_public and not seen_public:
                    wide = set()  # it cannot be told from what was said in private: narrower
                seen_public = is_public
            case _:
                mind.directory = Directory(mind.database, mind.clock)
                await mind.directory.load()
                seen_public = False
        mind.clock.advance(minutes=1)
        if number % 8 == 7:
            seen = wide if is_public else set()
            assert await known_to_hanako(mind) == seen
            here = await found(mind, await mind.directory.readable_in(place))
            assert here == (seen if is_public else kept)
    assert await mind.problems() == []


async def test_a_place_that_was_never_private_keeps_what_was_said(mind: Mind) -> None:
    await opened(mind, public=True, place=GENERAL)
    await mind.state("The red box is mine", said={"audience": GENERAL})
    await opened(mind, public=True, place=GENERAL)
    assert await known_to_hanako(mind) == {"The red box is mine"}


async def test_what_was_public_before_is_public_again(mind: Mind) -> None:
    await opened(mind, public=True)
    await tell(mind, "The red box is mine")
    await opened(mind, public=False)
    assert await known_to_hanako(mind) == set()
    await tell(mind, "The green box is mine")
    both = {"The red box is mine", "The green box is mine"}
    assert await found(mind, await mind.directory.readable_in(SECRET)) == both
    await opened(mind, public=True)
    assert await known_to_hanako(mind) == {"The red box is mine"}
    await tell(mind, "The blue box is mine")
    assert await known_to_hanako(mind) == {"The red box is mine", "The blue box is mine"}
    assert await mind.problems() == []


async def test_what_is_handled_late_goes_where_it_was_said(mind: Mind, place: Audience) -> None:
    said_at = mind.clock()
    mind.clock.advance(minutes=5)
    await mind.directory.privacy.closed([place])
    await tell(mind, "The red box is mine", sent_at=said_at)
    mind.clock.advance(minutes=5)
    await opened(mind, public=True)
    await tell(mind, "The green box is mine", sent_at=said_at)
    await tell(mind, "The blue box is mine", sent_at=mind.clock())
    assert await known_to_hanako(mind) == {"The blue box is mine"}


async def test_after_a_restart_what_is_late_is_taken_for_private(
    mind: Mind, place: Audience
) -> None:
    await tell(mind, "The red box is mine")
    mind.clock.advance(days=9)
    said_at = mind.clock()
    again = Directory(mind.database, mind.clock)
    mind.clock.advance(days=1)
    await again.privacy.opened([place])
    await tell(mind, "The green box is mine", sent_at=said_at)
    assert await found(mind, await again.readable_in(place)) == set()


async def test_many_that_open_at_once_are_set_apart(mind: Mind) -> None:
    places = [Audience("slack", "T1", f"C{n}") for n in range(30)]
    await mind.directory.privacy.closed(places)
    for each in places[::3]:
        await mind.state("The red box is mine", said={"audience": each})
    other = Directory(mind.database, mind.clock)
    await asyncio.gather(mind.directory.privacy.opened(places), other.privacy.opened(places[::2]))
    assert await found(mind, Readable(frozenset(places))) == set()
    await mind.directory.privacy.closed(places)
    theirs = await mind.directory.privacy.of_members(places)
    assert await found(mind, Readable(theirs)) == {"The red box is mine"}


async def test_reminders_of_a_public_place_outlive_its_closing(mind: Mind) -> None:
    await opened(mind, public=True)
    wish = NewReminder(
        TARO, "taro", SECRET, "c", "m1", Kind.REMINDER, "water the plants", {}, "UTC", "en",
        mind.clock(),
    )  # fmt: skip
    await mind.hear("remind us to water the plants", audience=SECRET, platform_id="m1")
    await mind.database.write(lambda s: reminders.add(s, wish, mind.clock()))
    await opened(mind, public=False)
    mine = await mind.database.read(lambda s: reminders.of_person(s, TARO, SECRET))
    assert [(each.text, each.audience) for each in mine] == [("water the plants", SECRET)]
    await mind.memory.source_deleted(SECRET, "m1")
    assert await mind.database.read(lambda s: reminders.of_person(s, TARO, SECRET)) == []


async def test_what_another_process_notes_is_known_here(mind: Mind, place: Audience) -> None:
    other = Directory(mind.database, mind.clock)
    await tell(mind, "The red box is mine")
    await other.privacy.opened([place])
    await other.privacy.closed([place])
    await tell(mind, "The green box is mine")
    await mind.directory.privacy.opened([place])
    assert await found(mind, await mind.directory.readable_in(place)) == set()


async def test_a_look_in_the_middle_of_another_is_not_lost(mind: Mind, place: Audience) -> None:
    await tell(mind, "The red box is mine")
    await asyncio.gather(
        mind.directory.privacy.opened([place]), mind.directory.privacy.closed([place])
    )
    await tell(mind, "The green box is mine")
    await mind.directory.privacy.opened([place])
    assert await found(mind, await mind.directory.readable_in(place)) == set()


async def test_what_was_prepared_before_it_opened_stays_with_what_it_was_made_from(
    mind: Mind, place: Audience
) -> None:
    message = await mind.hear("The red box is mine", audience=place)
    fact = await tell(mind, "The green box is mine")
    await opened(mind, public=True)
    (kept,) = await mind.memory.remember([new_fact(message)])
    assert kept.fact.audience.now == place
    made_from = [summaries.Source(Ref(Record.FACT, fact.id), text_key(fact.text))]
    stored = await mind.database.write(
        lambda s: summaries.put(
            s, place, summaries.About.PERSON, str(TARO), "boxes", "model", made_from, mind.clock()
        )
    )
    assert not stored
    assert await known_to_hanako(mind) == set()
    assert await mind.problems() == []


async def test_two_who_notice_at_once_set_it_apart_once(mind: Mind, place: Audience) -> None:
    await tell(mind, "The red box is mine")
    late = Directory(mind.database, mind.clock)
    await late.load()
    await opened(mind, public=True)
    await tell(mind, "The green box is mine")
    await late.privacy.opened([place])
    assert await known_to_hanako(mind) == {"The green box is mine"}


async def test_what_the_platform_tells_of_an_earlier_message_finds_it(
    mind: Mind, place: Audience
) -> None:
    await tell(mind, "The red box is mine", platform_id="p1")
    await tell(mind, "The blue box is mine", platform_id="p2")
    await opened(mind, public=True)
    # it comes again: read anew after downtime, and edited
    await mind.hear("The red box is mine", audience=place, platform_id="p1")
    edited = await mind.hear("The red box is Ken's", audience=place, platform_id="p1", revision="2")
    assert edited.audience.now == place
    assert edited.audience.ended_at is not None
    assert await mind.memory.knows(place, "p2")
    assert await mind.memory.source_deleted(place, "p2") is not None
    await mind.embedding.drain()
    assert await known_to_hanako(mind) == set()
    assert await mind.problems() == []


async def test_what_was_forgotten_of_a_private_time_is_not_learned_again(
    mind: Mind, place: Audience
) -> None:
    await tell(mind, "The red box is mine", platform_id="p1", author=TARO)
    await opened(mind, public=True)
    await mind.memory.forget_person(TARO)
    again = new_message("The red box is mine", audience=place, platform_id="p1")
    assert await mind.memory.hear(again, learn=False) is None


async def test_forgetting_a_place_forgets_its_private_times(mind: Mind, place: Audience) -> None:
    await tell(mind, "The red box is mine")
    await opened(mind, public=True)
    await tell(mind, "The green box is mine")
    await mind.memory.forget_place(place, ADMIN)
    await opened(mind, public=False)
    assert await found(mind, await mind.directory.readable_in_dm(TARO, TARO_DM)) == set()
    assert await mind.problems() == []


async def test_no_reminder_of_a_private_time_is_left(mind: Mind, place: Audience) -> None:
    for kind in Kind:
        wish = NewReminder(
            TARO, "taro", place, "c", f"m{kind}", kind, "the red box", {}, "UTC", "en", mind.clock()
        )  # fmt: skip
        await mind.database.write(lambda s: reminders.add(s, wish, mind.clock()))  # noqa: B023
    await opened(mind, public=True)
    later = mind.clock() + timedelta(days=1)
    assert await mind.database.read(lambda s: reminders.due(s, later)) == []


async def test_a_pause_lasts_and_a_reply_keeps_what_it_was_made_from(
    mind: Mind, place: Audience
) -> None:
    fact = await tell(mind, "The red box is mine")
    await mind.directory.change_place(place, paused=True)
    answered = await mind.reply("It is red.", [Ref(Record.FACT, fact.id)], audience=TARO_DM)
    await mind.directory.change_place(place, public=True)
    await mind.directory.privacy.opened([place])
    assert (await mind.directory.place(place.ended_time(mind.clock()))).paused
    mine = await mind.directory.readable_in_dm(TARO, TARO_DM)
    shown = await mind.memory.history(answered.conversation, mine, 10)
    assert shown == []


@pytest.mark.parametrize(
    ("text", "now"),
    [
        ("slack:T1:C1", "slack:T1:C1"),
        ("slack:T1:C1~open", "slack:T1:C1"),
        ("console:local:a:b~ended~12", "console:local:a:b"),
        *[(f"console:local:a~{odd}",) * 2 for odd in ("ended~0", "ended~01", "ended~²", "ended")],
        ("console:local:a~ended~" + "9" * 99,) * 2,
    ],
)
def test_a_place_is_read_as_it_is_written(text: str, now: str) -> None:
    place = Audience.parse(text)
    assert str(place) == text
    assert str(place.now) == now


@pytest.mark.parametrize("name", ["a~open", "a~ended~1", "a~open~open"])
def test_no_place_is_named_like_one_of_its_times(name: str) -> None:
    with pytest.raises(ValueError, match="no place"):
        Audience("console", "local", name)
    with pytest.raises(ValueError, match="no place"):
        Audience("console", "local", "a", name)

"""A reply is usable only where everything that it was made from can be read."""

from __future__ import annotations

import pytest

from memory.types import Kind, Message, Readable, Ref
from tests.fakes import GENERAL, SECRET, TARO_DM, Mind, new_fact

MINE = Readable.of(TARO_DM)
ALL = Readable.of(TARO_DM, SECRET, GENERAL)


async def reply(mind: Mind, text: str, *sources: Ref) -> Message:
    """A reply in Taro's direct message, made from the sources."""
    return await mind.reply(text, sources, conversation="dm")


async def source(mind: Mind, kind: Kind) -> Ref:
    """A record of the secret place."""
    said = await mind.hear("The vault opens with narwhal.", audience=SECRET)
    if kind is Kind.MESSAGE:
        return Ref(kind, said.id)
    (known,) = await mind.memory.remember([new_fact(said)])
    return Ref(kind, known.fact.id)


@pytest.mark.parametrize("kind", [Kind.FACT, Kind.MESSAGE])
async def test_a_reply_is_history_only_while_its_sources_are_readable(
    mind: Mind, kind: Kind
) -> None:
    ref = await source(mind, kind)
    told = await reply(mind, "It opens with narwhal.", ref)
    plain = await reply(mind, "Good morning.")
    assert [m.id for m in await mind.memory.history("dm", ALL, 10)] == [told.id, plain.id]
    assert [m.id for m in await mind.memory.history("dm", MINE, 10)] == [plain.id]


@pytest.mark.parametrize("kind", [Kind.FACT, Kind.MESSAGE])
async def test_a_reply_is_found_only_while_its_sources_are_readable(mind: Mind, kind: Kind) -> None:
    told = await reply(mind, "It opens with narwhal.", await source(mind, kind))
    found = {hit.ref for hit in await mind.memory.recall("narwhal", ALL, 10)}
    assert Ref(Kind.MESSAGE, told.id) in found
    assert await mind.memory.recall("narwhal", MINE, 10) == []


async def test_what_was_made_of_a_reply_was_made_of_its_sources(mind: Mind) -> None:
    ref = await source(mind, Kind.FACT)
    first = await reply(mind, "It opens with narwhal.", ref)
    second = await reply(mind, "As I said: narwhal.", Ref(Kind.MESSAGE, first.id))
    third = await reply(mind, "Narwhal, once more.", Ref(Kind.MESSAGE, second.id))
    assert await mind.memory.history("dm", MINE, 10) == []
    behind = await mind.memory.places_behind([Ref(Kind.MESSAGE, third.id)])
    assert behind == Readable.of(TARO_DM, SECRET)


async def test_a_reply_made_of_nothing_comes_from_its_own_place(mind: Mind) -> None:
    plain = await reply(mind, "Good morning.")
    assert await mind.memory.places_behind([Ref(Kind.MESSAGE, plain.id)]) == MINE
    assert await mind.memory.places_behind([]) == Readable(frozenset())


async def test_a_closed_reply_brings_nothing_along(mind: Mind) -> None:
    """What stands beside it is no candidate for what only the hidden reply matches."""
    ref = await source(mind, Kind.MESSAGE)
    await mind.hear("The kettle is warm.", audience=TARO_DM, conversation="dm")
    await reply(mind, "It opens with narwhal.", ref)
    after = await mind.hear("Tea is at four.", audience=TARO_DM, conversation="dm")
    mind.embedder.away = True  # with meaning, everything in so small a store is a candidate
    assert await mind.memory.recall("narwhal", MINE, 10) == []
    beside = [hit.ref.id for hit in await mind.memory.recall("narwhal", ALL, 10)]
    assert after.id in beside

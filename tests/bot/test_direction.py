"""Stored words cannot turn around what stands beside them: a name, a date, a number."""

from __future__ import annotations

import pytest

from bot.i18n import translator
from bot.quoting import Reader, citations, quote
from memory.types import Readable
from tests.fakes import HANAKO, Desk


@pytest.mark.parametrize(
    "words", ["My cat is called \u202eelttaes\u202c", "猫の名前は\u2067タマ\u2069です"]
)
async def test_words_that_turn_the_line_around_are_shown_without_that(
    desk: Desk, words: str
) -> None:
    """The date and the name beside them would read as others."""
    mind = desk.mind
    name = "ta\u202ero"
    fact = await mind.state(words, said={"author_name": name})
    reader = Reader(HANAKO, translator("en"), "UTC")
    hits = await mind.memory.recall("cat 猫", Readable.of(fact.audience), 5)
    shown = [quote(hits[0], reader), *(c.label for c in citations(hits, {hits[0].ref: 1}, reader))]
    shown.append((await desk.command("list")).text)
    shown.append((await desk.command(f"remember {words}")).text)
    shown.append((await desk.say(words.replace("cat", "dog").replace("猫", "犬"))).text)
    assert len(shown) == 5
    for text in shown:
        assert text
        assert not set(text) & set(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)])), text
    assert (await mind.memory.facts_by_id([fact.id], Readable.of(fact.audience)))[0].text == words

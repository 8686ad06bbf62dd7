"""Passages: a chunk is found by each of its sentences, and goes with all of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import Session

from memory import lexical, maintenance, passages
from memory.knowledge import Knowledge, NewSource
from memory.reading import Document, MediaType, Page, ReadingLimits
from memory.store import audiences
from memory.types import Kind, Readable, Ref
from tests.fakes import GENERAL, TARO, Mind

HERE = Readable.of(GENERAL)
TEXT = "カワセミは川に住む。魚を捕る。The bird is blue. It dives fast!"


async def _as_it_is(data: bytes, name: str, limits: ReadingLimits) -> Document:
    return Document("Birds", MediaType.TEXT, (Page(None, (), data.decode()),))


@pytest.fixture
def knowledge(mind: Mind) -> Knowledge:
    def count(text: str) -> int:
        return len(text) // 2

    return Knowledge(mind.database, mind.embedding, mind.ledger, mind.clock, count, read=_as_it_is)


async def add(knowledge: Knowledge, text: str, name: str = "birds.txt") -> int:
    base = await knowledge.ensure_base("birds", GENERAL, TARO)
    added = await knowledge.add(base, NewSource(name, name, TARO), text.encode())
    assert added.source is not None
    return added.source.id


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("一つ。二つ！三つ？", ["一つ。", "二つ！", "三つ？"]),
        ("「行く。」と言った。来た。", ["「行く。」と言った。", "来た。"]),
        ("Version 1.2 is out", ["Version 1.2 is out"]),
        ("Heading\n\nText of it", ["Heading", "Text of it"]),
        ("a line that\nwas wrapped", ["a line that\nwas wrapped"]),
        ("| a | b |\n| one | two |", ["| a | b |", "| one | two |"]),
        ("- first\n- second", ["- first", "- second"]),
        ("All of it. !!! …", ["All of it. !!! …"]),
        ("", [""]),
    ],
)
def test_text_is_split_into_sentences(text: str, expected: list[str]) -> None:
    assert passages.split(text) == expected


@given(st.text(max_size=300))
def test_no_word_is_lost(text: str) -> None:
    kept = "".join("".join(passages.split(text)).split())
    assert kept == "".join(text.split())


def test_a_chunk_has_no_more_passages_than_there_are_names_for() -> None:
    text = "".join(f"Sentence {number}. " for number in range(passages.MOST + 50))
    refs = passages.refs(7, text)
    assert len(refs) == passages.MOST
    low, high = passages.keys_of(7)
    assert (refs[0].key, refs[-1].key) == (low, high)
    assert {passages.place_of(ref.id)[0] for ref in refs} == {7}


async def test_a_sentence_finds_its_chunk_once(mind: Mind, knowledge: Knowledge) -> None:
    await add(knowledge, TEXT)
    await mind.embedding.drain()
    for query in ("魚を捕る", "Is the bird blue?"):
        hits = await mind.memory.recall(query, HERE, 5)
        assert [hit.ref.kind for hit in hits] == [Kind.CHUNK]
        assert hits[0].chunk is not None
        assert hits[0].text == hits[0].chunk.text == TEXT
        assert dict(hits[0].signals)["context"] > 0


async def test_looking_for_chunks_looks_for_their_passages(
    mind: Mind, knowledge: Knowledge
) -> None:
    await add(knowledge, TEXT)
    await mind.hear("魚を捕るのが好き", audience=GENERAL)
    await mind.embedding.drain()
    hits = await mind.memory.recall("魚を捕る", HERE, 5, kinds=(Kind.CHUNK,))
    assert [hit.ref.kind for hit in hits] == [Kind.CHUNK]


async def test_everything_agrees_while_a_document_is_there_and_after(
    mind: Mind, knowledge: Knowledge
) -> None:
    source = await add(knowledge, TEXT)
    await mind.embedding.drain()
    assert await mind.problems() == []
    await knowledge.remove(source, TARO, HERE)
    assert await mind.problems() == []
    assert await mind.memory.recall("魚を捕る", HERE, 5) == []


async def test_a_removed_chunk_leaves_no_passage_whatever_rule_split_it(
    mind: Mind, knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = await add(knowledge, TEXT)
    other = await add(knowledge, "Another bird. It sings.", "other.txt")
    monkeypatch.setattr(passages, "split", lambda text: [text])  # as of a later version
    await knowledge.remove(source, TARO, HERE)

    def left(session: Session) -> list[int]:
        place = audiences.ensure_id(session, GENERAL)
        return lexical.keys_between(session, place, Kind.PASSAGE, 1 << 60)

    keys = await mind.database.write(left)
    chunks = {passages.place_of(Ref.from_key(key).id)[0] for key in keys}
    assert len(chunks) == 1
    assert other > source


async def test_reindexing_finds_passages_again(mind: Mind, knowledge: Knowledge) -> None:
    await add(knowledge, TEXT)
    await mind.embedding.drain()
    await mind.database.write(lambda s: maintenance.reindex(s, mind.clock()))
    await mind.embedding.drain()
    assert await mind.problems() == []
    assert len(await mind.memory.recall("魚を捕る", HERE, 5)) == 1

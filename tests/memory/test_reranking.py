"""A cross-encoder orders what is found; without it, or when it fails, nothing changes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from memory.errors import RerankerUnavailable
from memory.long_term import LongTermMemory
from memory.reranking import DEPTH, PAUSE, Reranking
from memory.types import Hit, Readable
from tests.fakes import TARO_DM, Mind

HERE = Readable.of(TARO_DM)


@dataclass
class WordReader:
    """Likes a text the better the more often it has the word."""

    word: str
    broken: bool = False
    asked: list[tuple[str, int]] = field(default_factory=list)

    name = "rerank:words"
    is_local = True

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked.append((query, len(texts)))
        if self.broken:
            raise RerankerUnavailable("away")
        return [float(text.count(self.word)) for text in texts]

    async def close(self) -> None:
        return


async def found(mind: Mind, reader: WordReader | None, query: str, k: int = 5) -> list[Hit]:
    memory = LongTermMemory(
        mind.database, mind.index, mind.embedding, mind.ledger, mind.clock, reranker=reader
    )
    return await memory.recall(query, HERE, k)


async def filled(mind: Mind, texts: Sequence[str]) -> None:
    for text in texts:
        await mind.hear(text, conversation=text)
    await mind.embedding.drain()


TEXTS = {
    "en": ("the heron stands in the reeds", "the heron eats fish fish fish", "bread is baked"),
    "ja": ("鷺が葦の中に立つ", "鷺は魚と魚と魚を食べる", "パンを焼く"),
}


@pytest.mark.parametrize(
    ("language", "query", "word"),
    [("en", "heron in the reeds", "fish"), ("ja", "葦の中の鷺", "魚")],
)
async def test_the_order_is_the_cross_encoders_and_the_evidence_is_not(
    mind: Mind, language: str, query: str, word: str
) -> None:
    await filled(mind, TEXTS[language])
    plain = await found(mind, None, query)
    ordered = await found(mind, WordReader(word), query)
    assert plain[0].text == TEXTS[language][0]
    assert ordered[0].text == TEXTS[language][1]
    assert {h.ref: h.evidence for h in ordered} == {h.ref: h.evidence for h in plain}
    assert [h.score for h in ordered] == [h.score for h in plain], "best first, on the same scale"
    for hit in ordered:
        assert sum(value for _, value in hit.signals) == pytest.approx(hit.score)
        assert "rerank" in dict(hit.signals), "the explanation names it"


async def test_only_the_first_are_read_again_and_k_come_back(mind: Mind) -> None:
    await filled(mind, [f"heron number {n}" for n in range(DEPTH + 5)])
    reader = WordReader("heron number 3")
    hits = await found(mind, reader, "heron", 3)
    assert (len(hits), reader.asked) == (3, [("heron", DEPTH)])
    wide = await found(mind, reader, "heron", DEPTH + 5)
    assert len({hit.ref for hit in wide}) == DEPTH + 5


async def test_without_one_nothing_more_is_searched_for(mind: Mind) -> None:
    assert Reranking(None).depth(3) == 3
    assert Reranking(WordReader("x")).depth(3) == DEPTH


async def test_one_that_fails_changes_nothing_is_logged_and_left_alone_for_a_while(
    mind: Mind, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    await filled(mind, TEXTS["en"])
    plain = await found(mind, None, "heron in the reeds")
    now = 0.0
    reader = WordReader("fish", broken=True)
    reranking = Reranking(reader, lambda: now)
    for _ in range(3):
        assert await reranking.order("heron in the reeds", plain, 5) == plain
    assert len(reader.asked) == 1
    assert len(caplog.records) == 1
    assert "heron" not in caplog.text
    now, reader.broken = PAUSE, False
    assert (await reranking.order("heron in the reeds", plain, 5))[0].text == TEXTS["en"][1]


# -- a made-up passage -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "other", "query", "passage"),
    [
        ("the heron stands in the reeds", "trains run late", "which animal?", "a heron in reeds"),
        ("鷺が葦の中に立つ", "電車が遅れる", "どの動物？", "葦の中の鷺が立つ"),
    ],
)
async def test_a_passage_finds_by_meaning_and_is_no_evidence(
    mind: Mind, said: str, other: str, query: str, passage: str
) -> None:
    await filled(mind, [other, said])
    plain = {hit.text: hit for hit in await mind.memory.recall(query, HERE, 5)}
    drawn = await mind.memory.recall(query, HERE, 5, passage=passage)
    assert drawn[0].text == said
    assert drawn[0].score > plain[said].score
    assert {hit.text: hit.evidence for hit in drawn} == pytest.approx(
        {text: hit.evidence for text, hit in plain.items()}
    )


async def test_without_an_embedder_a_passage_changes_nothing(mind: Mind) -> None:
    await filled(mind, TEXTS["en"])
    mind.embedder.away = True
    mind.embedding.forget_recent()
    plain = await mind.memory.recall("heron", HERE, 5)
    assert await mind.memory.recall("heron", HERE, 5, passage="bread is baked") == plain
    assert plain

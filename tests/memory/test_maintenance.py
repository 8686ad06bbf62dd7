"""`check` finds every kind of disagreement, `reindex` heals it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import numpy as np
import pytest

from memory import maintenance
from memory.store.embeddings import text_hash
from memory.types import Kind, Readable
from tests.fakes import GENERAL, TARO, TARO_DM, FakeEmbedder, Mind

HERE = Readable.of(TARO_DM, GENERAL)


async def filled(mind: Mind) -> None:
    await mind.state("I live in Osaka", attribute="home")
    await mind.state("猫が好きです", said={"audience": GENERAL})
    await mind.state("The budget is 300")
    await mind.embedding.drain()
    assert await mind.problems() == []


def tamper(mind: Mind, *statements: str, parameters: Iterable[object] = ()) -> None:
    """Change the file behind the program's back."""
    with sqlite3.connect(str(mind.database.path)) as raw:
        for statement in statements:
            raw.execute(statement, tuple(parameters))
    raw.close()


_FACT = "(SELECT id << 2 FROM fact ORDER BY id LIMIT 1)"

DAMAGE = {
    "a keyword entry is missing": (
        [f"DELETE FROM posting WHERE owner = {_FACT}",
         f"DELETE FROM lexical_entry WHERE owner = {_FACT}"],
        "no keyword entry",
    ),
    "postings are missing": ([f"DELETE FROM posting WHERE owner = {_FACT}"], "keyword postings"),
    "postings are left over": (
        ["INSERT INTO posting VALUES (1, 'ghost', 999996, 1, 1)"], "have no entry",
    ),
    "a total is wrong": (["UPDATE lexical_statistics SET length = length + 1"], "keyword totals"),
    "an entry is left over": (
        ["INSERT INTO lexical_entry VALUES (1, 999996, 0, '')",
         "UPDATE lexical_statistics SET documents = documents + 1 WHERE audience_id = 1"],
        "keyword entries but no text",
    ),
    "the text changed": (["UPDATE fact SET text = 'I live in Kyoto' WHERE id = 1"], "another text"),
    "a vector is missing": (
        [f"DELETE FROM embedding WHERE owner = {_FACT}"], "no vector and waits for none",
    ),
    "a vector is left over": (
        ["INSERT INTO embedding SELECT audience_id, model_id, 999996, text_hash, vector"
         " FROM embedding LIMIT 1"],
        "vector without a record",
    ),
    "a vector is in another place": (
        [f"UPDATE embedding SET audience_id = 2 WHERE owner = {_FACT}"], "vector is in another",
    ),
    "a vector is cut": (
        [f"UPDATE embedding SET vector = substr(vector, 1, 8) WHERE owner = {_FACT}"],
        "vector is damaged",
    ),
    "a vector has no length": (
        [f"UPDATE embedding SET vector = zeroblob(length(vector)) WHERE owner = {_FACT}"],
        "vector is not normalised",
    ),
    "evidence is missing": (["DELETE FROM evidence WHERE fact_id = 1"], "rests on nothing"),
    "evidence was blanked": (
        ["UPDATE message SET text = '               ' WHERE id = 1"], "words that were forgotten",
    ),
}  # fmt: skip

HEALED = [name for name in DAMAGE if "evidence" not in name and name != "postings are left over"]


@pytest.mark.parametrize("name", DAMAGE)
async def test_check_finds_that(mind: Mind, name: str) -> None:
    statements, expected = DAMAGE[name]
    await filled(mind)
    tamper(mind, *statements)
    problems = await mind.problems()
    assert any(expected in problem for problem in problems), problems
    assert "Osaka" not in " ".join(problems)


@pytest.mark.parametrize("name", [*HEALED, "postings are left over"])
async def test_reindexing_heals_that(mind: Mind, name: str) -> None:
    await filled(mind)
    tamper(mind, *DAMAGE[name][0])
    await mind.database.write(lambda s: maintenance.reindex(s, mind.clock()))
    await mind.embedding.drain()
    assert await mind.problems() == []


async def test_vectors_that_cannot_be_read_are_found(mind: Mind) -> None:
    await filled(mind)
    bad = np.full(64, np.nan, dtype=np.float32).tobytes()
    tamper(mind, f"UPDATE embedding SET vector = ? WHERE owner = {_FACT}", parameters=[bad])
    assert any("vector is damaged" in problem for problem in await mind.problems())


async def test_a_vector_of_another_text_is_found_and_made_anew(
    mind: Mind, embedder: FakeEmbedder
) -> None:
    await filled(mind)
    other = text_hash("other words")
    tamper(mind, f"UPDATE embedding SET text_hash = ? WHERE owner = {_FACT}", parameters=[other])
    assert any("vector is of another text" in problem for problem in await mind.problems())
    embedder.asked.clear()
    mind.embedding.forget_recent()
    await mind.database.write(lambda s: maintenance.reindex(s, mind.clock()))
    await mind.embedding.drain()
    assert embedder.asked == [("document", "I live in Osaka")]
    assert await mind.problems() == []


async def test_reindexing_keeps_good_vectors_and_the_results(
    mind: Mind, embedder: FakeEmbedder
) -> None:
    await filled(mind)
    before = await mind.memory.recall("大阪の猫", HERE, 9)
    embedder.asked.clear()
    seen: list[int] = []
    count = await mind.database.write(lambda s: maintenance.reindex(s, mind.clock(), seen.append))
    assert count == 6
    assert seen == [6]
    await mind.embedding.drain()
    assert embedder.asked == []
    assert await mind.memory.recall("大阪の猫", HERE, 9) == before


async def test_a_ledger_entry_that_the_database_lacks_is_found(mind: Mind) -> None:
    await filled(mind)
    mind.ledger.append([mind.ledger.digest(TARO_DM, "m", "")])
    assert await mind.problems() == ["1 entries of the ledger are not in the database"]


async def test_a_long_list_of_problems_is_cut(mind: Mind) -> None:
    for number in range(maintenance.MOST_PROBLEMS + 10):
        await mind.hear(f"message {number}")
    tamper(mind, "DELETE FROM lexical_entry", "DELETE FROM posting")
    problems = await mind.problems()
    assert len(problems) == maintenance.MOST_PROBLEMS + 1
    assert "more problems" in problems[-1]


async def test_an_empty_database_is_in_order(mind: Mind) -> None:
    assert await mind.problems() == []
    assert await mind.database.write(lambda s: maintenance.reindex(s, mind.clock())) == 0


async def test_records_without_any_letters_are_in_order(mind: Mind) -> None:
    for text in ("!!!", "🍣", "\u200b", "…"):
        await mind.state(text)
    await mind.embedding.drain()
    assert await mind.problems() == []
    await mind.database.write(lambda s: maintenance.reindex(s, mind.clock()))
    assert await mind.problems() == []
    assert len(await mind.memory.facts_about(TARO, HERE)) == 4
    hits = await mind.memory.recall("🍣", HERE, 9, kinds=(Kind.FACT,))
    assert len(hits) == 4

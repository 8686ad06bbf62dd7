"""Questions about figures: recognised by examples, answered by a checked SELECT, shown whole."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from adapters.sql_sources import open_database
from bot.analysis_examples import ANALYSIS, SEARCH
from bot.analysis_questions import AnalysisQuestions, QuestionKind
from bot.i18n import translator
from bot.ports import ChatModel
from memory.data_sources import DataSources
from memory.types import Readable
from tests.fakes import GENERAL, SECRET, TARO, Mind, ScriptedChatModel

SAY = translator("en")
HERE = Readable.of(GENERAL)
QUESTION = "How many orders did we get last month?"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE orders (customer TEXT, amount INTEGER, month TEXT)")
    connection.execute("CREATE TABLE staff (name TEXT, salary INTEGER)")
    connection.executemany(
        "INSERT INTO orders VALUES (?, ?, ?)", [("花子", 3, "05"), ("taro", 5, "05")]
    )
    connection.commit()
    connection.close()
    return path


async def questions(mind: Mind, shop: Path, model: ChatModel | None = None) -> AnalysisQuestions:
    sources = DataSources(mind.database, mind.clock)
    await sources.register("shop", str(shop), GENERAL, TARO)
    return AnalysisQuestions(sources, mind.embedding, model, open_database)


def sql(statement: str) -> str:
    return json.dumps({"sql": statement})


async def test_the_answer_shows_value_tables_and_statement(mind: Mind, shop: Path) -> None:
    model = ScriptedChatModel(shaped=[sql("SELECT count(*) AS n FROM orders")])
    answer = await (await questions(mind, shop, model)).answer(QUESTION, HERE, SAY)
    assert answer is not None
    assert "**2**" in answer.text
    assert "COUNT(*)" in answer.text
    assert answer.base.startswith("shop: orders")
    assert answer.calls == 1
    assert (
        "orders(customer TEXT, amount INTEGER, month TEXT)" in model.asked_shaped[0][1][0].content
    )


async def test_rows_come_as_a_table(mind: Mind, shop: Path) -> None:
    model = ScriptedChatModel(shaped=[sql("SELECT customer, amount FROM orders ORDER BY amount")])
    answer = await (await questions(mind, shop, model)).answer(
        "顧客ごとの売上合計を教えて", HERE, SAY
    )
    assert answer is not None
    assert "| customer | amount |\n| --- | --- |\n| 花子 | 3 |\n| taro | 5 |" in answer.text


async def test_a_refused_statement_is_written_once_more_with_the_reason(
    mind: Mind, shop: Path
) -> None:
    model = ScriptedChatModel(
        shaped=[sql("DELETE FROM orders"), sql("SELECT sum(amount) FROM orders")]
    )
    answer = await (await questions(mind, shop, model)).answer(QUESTION, HERE, SAY)
    assert answer is not None
    assert "**8**" in answer.text
    assert "Only SELECT is allowed." in model.asked_shaped[1][1][0].content


async def test_two_bad_statements_are_admitted_and_nothing_was_run(mind: Mind, shop: Path) -> None:
    before = shop.read_bytes()
    model = ScriptedChatModel(shaped=[sql("DROP TABLE orders"), sql("DELETE FROM orders")])
    answer = await (await questions(mind, shop, model)).answer(QUESTION, HERE, SAY)
    assert answer is not None
    assert answer.result is None
    assert shop.read_bytes() == before


async def test_where_the_database_cannot_be_read_there_is_none(mind: Mind, shop: Path) -> None:
    model = ScriptedChatModel()
    asked = await questions(mind, shop, model)
    assert await asked.answer(QUESTION, Readable.of(SECRET), SAY) is None
    assert model.asked_shaped == []


async def test_a_question_for_texts_is_left_to_the_search(mind: Mind, shop: Path) -> None:
    model = ScriptedChatModel()
    asked = await questions(mind, shop, model)
    assert await asked.answer("How do I submit travel expenses?", HERE, SAY) is None
    assert model.asked_shaped == []


@pytest.mark.parametrize(("is_analysis", "answered"), [(True, True), (False, False)])
async def test_when_unsure_the_model_decides(
    mind: Mind, shop: Path, is_analysis: bool, answered: bool
) -> None:
    model = ScriptedChatModel(
        shaped=[json.dumps({"is_analysis": is_analysis}), sql("SELECT max(salary) FROM staff")]
    )
    asked = await questions(mind, shop, model)
    mind.embedder.away = True
    mind.embedding.forget_recent()
    answer = await asked.answer("zzz qqq", HERE, SAY)
    assert (answer is not None) is answered


async def test_without_a_model_it_says_so_and_names_the_tables(mind: Mind, shop: Path) -> None:
    answer = await (await questions(mind, shop)).answer(QUESTION, HERE, SAY)
    assert answer is not None
    assert "orders" in answer.text
    assert answer.calls == 0


async def test_a_database_that_is_gone_is_passed_over(mind: Mind, shop: Path) -> None:
    asked = await questions(mind, shop, ScriptedChatModel())
    shop.unlink()
    assert await asked.answer(QUESTION, HERE, SAY) is None


@pytest.mark.parametrize("kind", [QuestionKind.ANALYSIS, QuestionKind.SEARCH])
async def test_every_example_is_of_its_own_kind(mind: Mind, shop: Path, kind: QuestionKind) -> None:
    asked = await questions(mind, shop)
    for text in ANALYSIS if kind is QuestionKind.ANALYSIS else SEARCH:
        assert await asked.kind(text) in {kind, QuestionKind.UNSURE}, text


async def test_databases_of_one_name_are_apart_by_place(mind: Mind, shop: Path) -> None:
    sources = DataSources(mind.database, mind.clock)
    for place in (GENERAL, SECRET):
        await sources.register("Shop", str(shop), place, TARO)
    await sources.register("ｓｈｏｐ", str(shop), GENERAL, TARO)
    assert len(await sources.listed(Readable.of(GENERAL, SECRET))) == 2
    (here,) = await sources.listed(HERE, name="shop")
    await sources.remove(here)
    assert await sources.listed(HERE) == []
    assert await sources.places() == Readable.of(SECRET)

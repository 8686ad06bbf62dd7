"""Questions that documents answer: cited with page, routed with a confidence, never elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.documents import Documents
from bot.messages import Reply
from bot.ports import ChatModel
from bot.responder import Responder
from memory.base_router import BaseRouter
from memory.types import Audience, Readable
from tests.fakes import GENERAL, SECRET, TARO, TARO_DM, Desk, Mind, ScriptedChatModel
from tests.memory.test_base_router import COOKING, MONEY, fill
from tests.memory.test_knowledge import made

READABLE = Readable.of(GENERAL, TARO_DM)


class Library:
    """The core with two bases in #general."""

    def __init__(self, mind: Mind, model: ChatModel | None = None) -> None:
        self.mind = mind
        self.knowledge = made(mind)
        router = BaseRouter(mind.database, mind.index, mind.embedding)
        self.documents = Documents(router, model)
        self.desk = Desk.over(mind)
        self.desk.responder = Responder(
            mind.memory,
            mind.directory,
            self.desk.commands,
            self.desk.extractor,
            model,
            mind.clock,
            answer_tokens=256,
            documents=self.documents,
        )

    async def open(self, place: Audience = GENERAL) -> None:
        await fill(self.knowledge, "cooking", place, COOKING)
        await fill(self.knowledge, "money", place, MONEY)
        await self.mind.embedding.drain()
        await self.knowledge.refresh_means()

    async def ask(self, text: str, **changed: Any) -> Reply:
        return await self.desk.say(text, **{"readable": READABLE, **changed})


@pytest.fixture
async def library(mind: Mind) -> Library:
    library = Library(mind)
    await library.open()
    return library


@pytest.mark.parametrize(
    ("question", "answer", "base", "page"),
    [
        ("What is the interest rate of the loan?", MONEY[1], "money", 2),
        ("味噌汁の作り方は何ですか?", COOKING[2], "cooking", 3),
    ],
)
async def test_the_page_is_quoted_and_cited(
    library: Library, question: str, answer: str, base: str, page: int
) -> None:
    reply = await library.ask(question)
    assert answer in reply.text
    assert (reply.route, reply.base) == ("documents", base)
    assert reply.confidence is not None
    assert 0 < reply.confidence <= 100
    (citation,) = reply.citations
    assert citation.label.startswith(f"{base}.pdf")
    assert str(page) in citation.label


async def test_the_trace_has_bases_by_number_with_confidence_and_distance(
    library: Library,
) -> None:
    await library.ask("What is the interest rate of the loan?")
    trace = await library.mind.memory.trace(TARO, TARO_DM, None)
    assert trace is not None
    assert trace.steps["base_id"] == trace.steps["bases"][0]["id"]
    assert set(trace.steps["bases"][0]) == {"id", "confidence", "distance"}
    assert "money" not in json.dumps(trace.steps["bases"])


async def test_where_it_cannot_be_read_the_document_does_not_exist(mind: Mind) -> None:
    library = Library(mind)
    await library.open(SECRET)
    reply = await library.ask("What is the interest rate of the loan?")
    assert (reply.base, reply.confidence, reply.citations) == ("", None, ())
    assert MONEY[1] not in reply.text
    inside = await library.ask(
        "What is the interest rate of the loan?", readable=Readable.of(SECRET)
    )
    assert MONEY[1] in inside.text


async def test_a_removed_document_is_not_found_again(library: Library) -> None:
    question = "What is the interest rate of the loan?"
    assert MONEY[1] in (await library.ask(question)).text
    source = (await library.knowledge.sources(READABLE))[1]
    await library.knowledge.remove(source.id, TARO, READABLE)
    assert MONEY[1] not in (await library.ask(question)).text


async def test_what_no_document_answers_is_not_invented(library: Library) -> None:
    reply = await library.ask("Who won the chess tournament in Vienna?")
    assert (reply.base, reply.citations) == ("", ())


async def test_a_base_that_was_not_chosen_answers_when_the_others_have_nothing(
    library: Library,
) -> None:
    hits = await library.mind.memory.recall("interest rate of the loan", READABLE, 10)
    consulted = await library.documents.consult("boil the pasta in salted water", READABLE, hits)
    assert consulted is not None
    assert consulted.routed.choices[0][0].name == "cooking"
    assert consulted.base == "money"
    assert {hit.ref for hit in consulted.hits} == {hit.ref for hit in hits}


@pytest.mark.parametrize(
    ("answer", "first"), [('{"number": 2}', 1), ('{"number": 0}', 0), ('{"number": 99}', 0)]
)
async def test_a_model_is_asked_only_when_the_bases_are_nearly_alike(
    mind: Mind, answer: str, first: int
) -> None:
    await Library(mind).open()
    question = "interest rate of the bread"
    plain = BaseRouter(mind.database, mind.index, mind.embedding)
    routed = await plain.route(question, READABLE)
    hits = await mind.memory.recall("what is the interest rate of the loan", READABLE, 10)
    model = ScriptedChatModel(shaped=[answer])
    consulted = await Documents(plain, model).consult(question, READABLE, hits)
    assert consulted is not None
    assert consulted.calls == int(routed.unsure)
    if routed.unsure:
        assert consulted.routed.choices[0] == routed.choices[first]
        assert "cooking" in model.asked_shaped[0][1][0].content

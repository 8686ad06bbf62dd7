"""Questions that documents answer: cited with page, routed with a confidence, never elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.citing import extent
from bot.documents import Documents, quoted_once
from bot.i18n import translator
from bot.messages import EventKind, Reply
from bot.ports import ChatModel
from bot.responder import Responder
from memory.base_router import BaseRouter
from memory.reading import Document, MediaType, Page
from memory.types import Audience, Readable
from tests.fakes import GENERAL, SECRET, TARO, TARO_DM, Desk, Mind, ScriptedChatModel
from tests.memory.test_base_router import COOKING, MONEY, fill
from tests.memory.test_knowledge import made, new

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


async def read_sections(data: bytes, *_: object) -> Document:
    """A document without pages: one section, under a heading."""
    heading, text = data.decode().split("|")
    return Document("", MediaType.MARKDOWN, (Page(None, ("Handbook", heading), text),))


@pytest.mark.parametrize(
    ("heading", "text", "question", "shown"),
    [
        ("Travel", "The night train is paid for.", "Is the night train paid for?", "a.md, Travel"),
        ("出張", "夜行列車の費用は会社が払う。", "夜行列車の費用は?", "a.md, 出張"),
    ],
)
async def test_why_names_the_document_and_its_heading_where_they_can_be_read(
    mind: Mind, heading: str, text: str, question: str, shown: str
) -> None:
    library = Library(mind)
    knowledge = made(mind, read_sections)
    base = await knowledge.ensure_base("handbook", GENERAL, TARO)
    await knowledge.add(base, new("a.md"), f"{heading}|{text}".encode())
    await mind.embedding.drain()
    await library.ask(question)
    for why in (
        await library.desk.command("why", readable=READABLE),
        await library.desk.say("why?", readable=READABLE),
        await library.desk.say("なぜ？", readable=READABLE),
    ):
        assert shown in why.text
        assert "chunk" not in why.text
    closed = await library.desk.command("why", readable=Readable.of(TARO_DM))
    assert "a.md" not in closed.text
    assert heading not in closed.text
    (source,) = await knowledge.sources(READABLE)
    await knowledge.remove(source.id, TARO, READABLE)
    assert "a.md" not in (await library.desk.command("why", readable=READABLE)).text


@pytest.mark.parametrize(
    ("locale", "question", "shown"),
    [
        ("en", "What is the interest rate of the loan?", "money.pdf, p. 2"),
        ("ja", "味噌汁の作り方は何ですか?", "cooking.pdf、3ページ"),
    ],
)
async def test_why_names_the_page(library: Library, locale: str, question: str, shown: str) -> None:
    await library.ask(question)
    why = library.desk.incoming("why", kind=EventKind.COMMAND, readable=READABLE)
    told = await library.desk.commands.run("why", why, translator(locale))
    assert shown in told.text


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the interest rate of the loan?", MONEY[1]),
        ("口座の残高を見るには?", MONEY[2]),
    ],
)
@pytest.mark.parametrize("here", [GENERAL, SECRET])
async def test_a_document_in_two_bases_is_quoted_once_from_the_place_where_it_is_asked(
    mind: Mind, question: str, answer: str, here: Audience
) -> None:
    library = Library(mind)
    await library.open()
    await fill(library.knowledge, "our money", SECRET, MONEY)
    await mind.embedding.drain()
    await library.knowledge.refresh_means()
    both = Readable.of(GENERAL, SECRET)
    hits = await mind.memory.recall(question, both, 10)
    assert len([hit for hit in hits if hit.text == answer]) == 2
    (kept,) = [hit for hit in quoted_once(hits, here) if hit.text == answer]
    assert kept.audience == here
    reply = await library.ask(question, readable=both, audience=here, place=here)
    assert reply.text.count(answer) == 1
    assert reply.base == ("our money" if here == SECRET else "money")


async def test_the_same_words_in_another_document_are_a_source_of_their_own(mind: Mind) -> None:
    library = Library(mind)
    await fill(library.knowledge, "old", GENERAL, (MONEY[1], COOKING[0]))
    await fill(library.knowledge, "new", GENERAL, (MONEY[1], COOKING[1]))
    await mind.embedding.drain()
    hits = await mind.memory.recall("interest rate of the loan", READABLE, 10)
    assert quoted_once(hits, GENERAL) == hits


@pytest.mark.parametrize(
    ("kind", "english", "japanese"),
    [
        (MediaType.PDF, "2 pages", "2ページ"),
        (MediaType.PPTX, "2 pages", "2ページ"),
        (MediaType.MARKDOWN, "2 sections", "2セクション"),
        (MediaType.DOCX, "2 sections", "2セクション"),
    ],
)
async def test_what_has_no_pages_is_counted_in_sections(
    mind: Mind, kind: MediaType, english: str, japanese: str
) -> None:
    document = Document("", kind, (Page(None, (), "One."), Page(None, (), "二。")))

    async def read(*_: object) -> Document:
        return document

    knowledge = made(mind, read)
    base = await knowledge.ensure_base("handbook", GENERAL, TARO)
    source = (await knowledge.add(base, new(), b"x")).source
    assert source is not None
    assert extent(source, translator("en")) == english
    assert extent(source, translator("ja")) == japanese

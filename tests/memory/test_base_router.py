"""Routing over stored documents: by what is readable, with feedback that goes with its answer."""

from __future__ import annotations

import pytest

from memory.base_router import BaseRouter
from memory.knowledge import Knowledge, KnowledgeBase
from memory.types import Audience, Readable
from tests.fakes import GENERAL, SECRET, TARO, TARO_DM, Mind
from tests.memory.test_knowledge import made, new, pages

READABLE = Readable.of(GENERAL, TARO_DM)
COOKING = ("boil the pasta in salted water", "bake the bread for an hour", "味噌汁の作り方")
MONEY = ("transfer money to another account", "the interest rate of the loan", "口座の残高を見る")


async def fill(
    knowledge: Knowledge, name: str, place: Audience, texts: tuple[str, ...]
) -> KnowledgeBase:
    base = await knowledge.ensure_base(name, place, TARO)
    await knowledge.add(base, new(f"{name}.pdf"), pages(*texts))
    return base


@pytest.fixture
async def router(mind: Mind) -> BaseRouter:
    knowledge = made(mind)
    await fill(knowledge, "cooking", GENERAL, COOKING)
    await fill(knowledge, "money", GENERAL, MONEY)
    await mind.embedding.drain()
    await knowledge.refresh_means()
    return BaseRouter(mind.database, mind.index, mind.embedding)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("how do I boil pasta", "cooking"),
        ("what is the interest rate", "money"),
        ("味噌汁の作り方は?", "cooking"),
        ("口座の残高は?", "money"),
    ],
)
async def test_the_base_with_the_best_chunks_is_chosen(
    router: BaseRouter, question: str, name: str
) -> None:
    routed = await router.route(question, READABLE)
    assert routed.choices[0][0].name == name
    assert next(base.name for base in routed.bases) == name
    assert routed.confidence == routed.choices[0][1].confidence
    assert routed.choices[0][1].distance is not None


async def test_words_route_while_the_model_is_away(mind: Mind, router: BaseRouter) -> None:
    mind.embedder.away = True
    mind.embedding.forget_recent()
    routed = await router.route("interest rate", READABLE)
    assert routed.choices[0][0].name == "money"


async def test_a_base_that_cannot_be_read_changes_nothing(mind: Mind, router: BaseRouter) -> None:
    before = await router.route("how do I boil pasta", READABLE)
    knowledge = made(mind)
    await fill(knowledge, "secret kitchen", SECRET, ("boil pasta", "boil the pasta quickly"))
    await mind.embedding.drain()
    await knowledge.refresh_means()
    assert await router.route("how do I boil pasta", READABLE) == before
    wide = await router.route("how do I boil pasta", Readable.of(GENERAL, SECRET))
    assert len(wide.choices) == 3


async def test_without_bases_or_question_there_is_no_choice(mind: Mind, router: BaseRouter) -> None:
    for question, readable in (("pasta", Readable.of(SECRET)), ("  ", READABLE)):
        routed = await router.route(question, readable)
        assert routed.choices == ()
        assert (routed.confidence, routed.out_of_scope, routed.bases) == (0.0, True, ())


async def answered(mind: Mind, question: str, base_id: int) -> int:
    asked = await mind.hear(question)
    steps = {"query": question, "base_id": base_id}
    trace_id, _ = await mind.memory.add_trace(TARO_DM, TARO, asked.id, None, steps, [])
    return trace_id


async def test_verdicts_move_the_routing_and_can_be_taken_back(
    mind: Mind, router: BaseRouter
) -> None:
    question = "interest in bread"
    before = await router.route(question, READABLE)
    last = before.choices[-1][0]
    trace = await answered(mind, question, last.id)
    assert await mind.memory.rate(trace, TARO, 1)
    assert await router.learn() == 1
    assert await router.learn() == 0
    after = await router.route(question, READABLE)
    scores = {base.id: choice.score for base, choice in before.choices}
    moved = {base.id: choice.score - scores[base.id] for base, choice in after.choices}
    assert moved[last.id] > 0.2
    assert all(change == 0 for id_, change in moved.items() if id_ != last.id)
    assert await mind.memory.rate(trace, TARO, 0)
    await router.learn()
    assert await router.route(question, READABLE) == before


async def test_a_verdict_given_elsewhere_counts_only_for_its_readers(
    mind: Mind, router: BaseRouter
) -> None:
    question = "interest in bread"
    before = await router.route(question, Readable.of(GENERAL))
    trace = await answered(mind, question, before.choices[-1][0].id)
    await mind.memory.rate(trace, TARO, 1)
    await router.learn()
    assert await router.route(question, Readable.of(GENERAL)) == before
    assert await router.route(question, READABLE) != before


async def test_a_verdict_goes_with_the_question_it_was_given_on(
    mind: Mind, router: BaseRouter
) -> None:
    base = (await router.route("pasta", READABLE)).choices[0][0]
    trace = await answered(mind, "a very private question about pasta", base.id)
    await mind.memory.rate(trace, TARO, 1)
    await router.learn()
    assert mind.database.inline("SELECT count(*) FROM routing_feedback") == [(1,)]
    await mind.memory.forget_person(TARO)
    assert mind.database.inline("SELECT count(*) FROM routing_feedback") == [(0,)]


async def test_means_follow_the_documents(mind: Mind, router: BaseRouter) -> None:
    knowledge = made(mind)
    assert await knowledge.refresh_means() == 0
    source = (await knowledge.sources(READABLE))[0]
    await knowledge.remove(source.id, TARO, READABLE)
    assert mind.database.inline("SELECT count(*) FROM knowledge_base_mean") == [(1,)]
    assert [base.name for base, _ in (await router.route("pasta", READABLE)).choices] == ["money"]

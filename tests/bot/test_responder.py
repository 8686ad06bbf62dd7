"""One message in, one reply out."""

from __future__ import annotations

from typing import Any

import pytest

from bot.errors import ModelMissing, ModelTimeout, ModelUnavailable
from bot.messages import Author, Delta, EventKind, IncomingMessage, Reply, Status
from memory.errors import StoreUnavailable
from memory.long_term import LongTermMemory
from memory.store.places import Preferences
from memory.types import Audience, Kind, Readable, Ref, Role
from tests.fakes import (
    GENERAL,
    HANAKO,
    SECRET,
    TARO,
    TARO_DM,
    Desk,
    Failing,
    Mind,
    ScriptedChatModel,
    new_fact,
    streamed,
)

HERE = Readable.of(TARO_DM)


async def known(desk: Desk) -> list[str]:
    return [fact.text for fact in await desk.mind.memory.facts_about(TARO, HERE)]


# -- without a model -------------------------------------------------------------------------------


async def test_a_statement_is_remembered_and_acknowledged(desk: Desk) -> None:
    reply = await desk.say("I live in Osaka. I like cats.")
    assert reply.text.splitlines() == ["Remembered: I live in Osaka.", "Remembered: I like cats."]
    assert [fact.text for fact in reply.learned] == ["I live in Osaka.", "I like cats."]
    assert (await desk.say("I live in Osaka.")).text == "I knew that already: I live in Osaka."


async def test_a_new_value_names_the_one_it_replaces(desk: Desk) -> None:
    await desk.say("大阪に住んでいます。")
    desk.mind.clock.advance(minutes=1)
    reply = await desk.say("京都に住んでいます。")
    assert "京都" in reply.text
    assert "大阪" in reply.text


async def test_a_question_is_answered_by_a_quote_with_its_source(desk: Desk) -> None:
    await desk.say("I live in Osaka.", permalink="https://c.example/1")
    reply = await desk.say("Where do I live?")
    assert reply.text == "“I live in Osaka.” (you, Mar 2, 2026) [1]"
    (citation,) = reply.citations
    assert (citation.number, citation.permalink) == (1, "https://c.example/1")


async def test_what_is_not_known_is_said_so(desk: Desk) -> None:
    await desk.say("I live in Osaka.")
    assert (await desk.say("What is my job?")).text == "I know nothing about that."
    assert "知りません" in (await desk.say("私の仕事は何ですか？")).text


async def test_a_question_teaches_nothing_and_greetings_look_nothing_up(desk: Desk) -> None:
    await desk.say("Do I live in Osaka?")
    reply = await desk.say("Hello!")
    assert await known(desk) == []
    assert reply.citations == ()
    trace = await desk.mind.memory.trace(TARO, TARO_DM, reply.trace_id)
    assert trace is not None
    assert trace.steps["hits"] == []


async def test_an_empty_message_is_asked_for_words(desk: Desk) -> None:
    assert "Tell me something" in (await desk.say("  ")).text


async def test_words_are_a_command_when_the_whole_message_is(desk: Desk) -> None:
    await desk.say("remember that the budget is 300 yen")
    assert await known(desk) == ["the budget is 300 yen"]
    assert "Forgotten: 1 fact" in (await desk.say("forget the budget")).text
    assert "is back" in (await desk.say("undo")).text
    assert await known(desk) == ["the budget is 300 yen"]


async def test_nothing_unreadable_is_quoted(desk: Desk) -> None:
    await desk.say("I live in Osaka.", audience=SECRET)
    in_dm = await desk.say("Where do I live?", readable=HERE)
    assert in_dm.text == "I know nothing about that."
    everywhere = await desk.say("Where do I live?", readable=Readable.of(TARO_DM, SECRET))
    assert "Osaka" in everywhere.text


async def test_where_somebody_else_lives_does_not_answer_where_i_live(desk: Desk) -> None:
    await desk.say("I live in Osaka.", HANAKO, audience=GENERAL)
    assert (await desk.say("Where do I live?")).text == "I know nothing about that."


# -- what is stored --------------------------------------------------------------------------------


async def test_message_and_reply_are_stored_with_a_trace(desk: Desk) -> None:
    reply = await desk.say("I live in Osaka.", message_id="m1")
    history = await desk.mind.memory.history(str(TARO_DM), HERE, 9)
    assert [(m.role, m.text) for m in history] == [
        (Role.USER, "I live in Osaka."),
        (Role.ASSISTANT, reply.text),
    ]
    assert reply.stored_id == history[1].id
    trace = await desk.mind.memory.trace(TARO, TARO_DM, reply.trace_id)
    assert trace is not None
    assert (trace.message_id, trace.reply_id) == (history[0].id, history[1].id)
    assert trace.steps["model"] == "none"


async def test_the_platforms_id_of_a_reply_is_noted(desk: Desk) -> None:
    reply = await desk.say("I live in Osaka.")
    await desk.responder.sent(reply, "1700.1")
    assert await desk.mind.memory.find_message(TARO_DM, "1700.1") is not None
    await desk.responder.sent(Reply("not stored"), "1700.2")
    assert await desk.mind.memory.find_message(TARO_DM, "1700.2") is None


async def test_a_bots_message_is_never_stored(desk: Desk) -> None:
    bot = Author(HANAKO, "a bot", is_bot=True)
    await desk.say("I live in Osaka.", author=bot)
    assert await desk.mind.memory.messages_of(HANAKO, HERE) == []


async def test_what_is_not_addressed_to_it_is_dropped_unless_it_listens(desk: Desk) -> None:
    aside: dict[str, Any] = {"addressed": False, "audience": GENERAL, "place": GENERAL}
    assert (await desk.say("I like cats.", **aside)).silent
    assert await desk.mind.memory.messages_of(TARO, Readable.of(GENERAL)) == []
    await desk.mind.directory.change_place(GENERAL, listen=True)
    assert (await desk.say("I like cats.", **aside)).silent
    assert len(await desk.mind.memory.messages_of(TARO, Readable.of(GENERAL))) == 1


async def test_an_old_message_is_stored_and_not_answered(desk: Desk) -> None:
    assert (await desk.say("I like cats.", answer=False)).silent
    assert len(await desk.mind.memory.messages_of(TARO, HERE)) == 1


async def test_an_edit_changes_what_was_taught_and_is_not_answered(desk: Desk) -> None:
    await desk.say("I live in Osaka.", message_id="m")
    edit: dict[str, Any] = {"message_id": "m", "revision": "2", "kind": EventKind.EDIT}
    assert (await desk.say("I live in Kyoto.", **edit)).silent
    await desk.extractor.drain()
    assert await known(desk) == ["I live in Kyoto."]


async def test_a_deletion_takes_back_what_was_taught(desk: Desk) -> None:
    await desk.say("I live in Osaka.", message_id="m")
    assert (await desk.say("", message_id="m", kind=EventKind.DELETE)).silent
    assert await known(desk) == []
    assert (await desk.say("Where do I live?")).text == "I know nothing about that."
    assert await desk.mind.problems() == []


async def test_a_quiet_person_is_not_told_what_was_learned(desk: Desk) -> None:
    await desk.mind.directory.set_preferences(TARO, Preferences(quiet=True))
    assert (await desk.say("I live in Osaka.")).learned == ()
    assert await known(desk) == ["I live in Osaka."]


async def test_the_chosen_locale_goes_before_the_platforms(desk: Desk) -> None:
    await desk.mind.directory.set_preferences(TARO, Preferences(locale="ja"))
    reply = await desk.say("list", kind=EventKind.COMMAND, locale="en")
    assert "nothing" not in reply.text


# -- when something fails --------------------------------------------------------------------------


async def test_a_failing_memory_is_said_in_one_private_line(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = StoreUnavailable("The disk that holds the database is full.")
    monkeypatch.setattr(LongTermMemory, "hear", Failing(LongTermMemory.hear, full))
    reply = await desk.say("I live in Osaka.")
    assert (reply.failed, reply.private) == (True, True)
    assert "disk" in reply.text


async def test_a_surprise_is_said_with_an_id_and_not_with_its_words(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    oops = RuntimeError("inner detail")
    monkeypatch.setattr(LongTermMemory, "hear", Failing(LongTermMemory.hear, oops))
    reply = await desk.say("my secret words", event_id="e-42")
    assert reply.failed
    assert "e-42" in reply.text
    assert "inner" not in reply.text
    assert "e-42" in caplog.text
    assert "my secret words" not in caplog.text


async def test_no_words_get_into_the_log(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    await desk.say("I live in Wakkanai.")
    await desk.say("Where do I live?")
    await desk.say("forget Wakkanai")
    assert "Wakkanai" not in caplog.text


# -- with a model ----------------------------------------------------------------------------------


async def test_the_models_answer_is_streamed_stored_and_cited(mind: Mind) -> None:
    model = ScriptedChatModel(["You live ", "in Osaka [1]."])
    desk = Desk.over(mind, model)
    await desk.mind.state("I live in Osaka.", attribute="home")
    parts = await desk.parts("Where do I live?")
    assert isinstance(parts[0], Status)
    assert streamed(parts) == "You live in Osaka [1]."
    reply = parts[-1]
    assert isinstance(reply, Reply)
    assert sum(isinstance(part, Reply) for part in parts) == 1
    assert reply.text == "You live in Osaka [1]."
    assert [c.number for c in reply.citations] == [1]
    system = model.asked[0][0].content
    assert "I live in Osaka." in system
    trace = await mind.memory.trace(TARO, TARO_DM, reply.trace_id)
    assert trace is not None
    assert (trace.steps["calls"], trace.steps["model"]) == (1, "scripted:model")
    assert trace.steps["hits"][0]["used"] is True


async def test_earlier_turns_reach_the_model_and_only_readable_ones(mind: Mind) -> None:
    model = ScriptedChatModel(["Noted."], ["Sure."])
    desk = Desk.over(mind, model)
    await desk.say("The launch code name is Falcon.", conversation="c")
    await mind.hear("hidden words", audience=SECRET, conversation="c")
    await desk.say("Please tell me a joke about rockets", conversation="c")
    told = [turn.content for turn in model.asked[-1][1:]]
    assert told == [
        "The launch code name is Falcon.",
        "Noted.",
        "Please tell me a joke about rockets",
    ]
    assert "hidden words" not in str(model.asked)


async def test_numbers_that_cite_nothing_are_no_citations(mind: Mind) -> None:
    desk = Desk.over(mind, ScriptedChatModel(["As [7] and [0] say."]))
    assert (await desk.say("What is the plan for May?")).citations == ()


@pytest.mark.parametrize(
    "error",
    [
        ModelUnavailable("The model server does not answer.", fix="Start it."),
        ModelMissing("There is no model.", fix="ollama pull qwen3:4b"),
        ModelTimeout("The model took too long."),
    ],
)
async def test_when_the_model_fails_what_is_known_is_quoted(mind: Mind, error: Exception) -> None:
    desk = Desk.over(mind, ScriptedChatModel([error]))
    await mind.state("I live in Osaka.", attribute="home")
    reply = await desk.say("Where do I live?")
    assert "“I live in Osaka.”" in reply.text
    assert str(error) in reply.text
    assert getattr(error, "fix", "") in reply.text
    stored = await mind.memory.messages_of(TARO, HERE)
    assert [m.text for m in stored] == ["I live in Osaka.", "Where do I live?"]


async def test_when_the_model_fails_in_the_middle_what_came_is_kept(mind: Mind) -> None:
    error = ModelUnavailable("The connection broke.")
    desk = Desk.over(mind, ScriptedChatModel(["You live in", error]))
    parts = await desk.parts("Where do I live?")
    assert [part.text for part in parts if isinstance(part, Delta)] == ["You live in"]
    assert parts[-1].text.startswith("You live in")
    assert "connection broke" in parts[-1].text


async def test_an_empty_answer_of_the_model_is_not_passed_on(mind: Mind) -> None:
    desk = Desk.over(mind, ScriptedChatModel(["  ", "\n"]))
    await mind.state("I live in Osaka.", attribute="home")
    assert "“I live in Osaka.”" in (await desk.say("Where do I live?")).text


async def test_forgetting_takes_the_models_answers_made_from_it(mind: Mind) -> None:
    desk = Desk.over(mind, ScriptedChatModel(["You live in Wakkanai [1]."]))
    fact = await mind.state("I live in Wakkanai.", attribute="home")
    await desk.say("Where do I live?")
    assert "1 reply of mine" in (await desk.command(f"forget {fact.id}")).text
    rows = mind.database.inline("SELECT count(*) FROM message WHERE text LIKE '%Wakkanai%'")
    assert rows == [(0,)]
    hits = await mind.memory.recall("Wakkanai", HERE, 9, kinds=tuple(Kind))
    assert not any("Wakkanai" in hit.text for hit in hits)


# -- what can be read no more while an answer is made ----------------------------------------------


class Leaves:
    """A platform's word that the asker is in these places no more; notes what it was asked."""

    def __init__(self, *left: Audience) -> None:
        self._left = frozenset(left or (SECRET,))
        self.asked: set[Audience] = set()

    async def __call__(self, message: IncomingMessage, places: Readable) -> Readable:
        self.asked |= places.audiences
        return Readable(places.audiences - self._left)


async def answered_meanwhile(desk: Desk, text: str, leaves: Leaves) -> Reply:
    message = desk.incoming(text, readable=Readable.of(TARO_DM, GENERAL, SECRET))
    reply = [part async for part in desk.responder.handle(message, leaves)][-1]
    assert isinstance(reply, Reply)
    return reply


@pytest.mark.parametrize("kind", [Kind.FACT, Kind.MESSAGE])
async def test_what_is_found_in_a_place_that_was_left_meanwhile_is_not_used(
    mind: Mind, kind: Kind
) -> None:
    said = await mind.hear("The vault opens with narwhal.", audience=SECRET)
    if kind is Kind.FACT:
        await mind.memory.remember([new_fact(said)])
    model, leaves = ScriptedChatModel(["I cannot tell."]), Leaves()
    await answered_meanwhile(Desk.over(mind, model), "What does the vault open with?", leaves)
    assert SECRET in leaves.asked
    assert "narwhal" not in str(model.asked)


async def test_a_reply_made_from_a_place_that_was_left_meanwhile_is_not_used(mind: Mind) -> None:
    """Neither as an earlier turn nor as something found, though it stands in the asker's DM."""
    said = await mind.hear("The vault opens with narwhal.", audience=SECRET)
    await mind.reply("With narwhal.", [Ref(Kind.MESSAGE, said.id)], conversation=str(TARO_DM))
    model, leaves = ScriptedChatModel(["I cannot tell."]), Leaves()
    await answered_meanwhile(Desk.over(mind, model), "What is it about narwhal?", leaves)
    assert SECRET in leaves.asked
    assert str(model.asked).count("narwhal") == 1  # the question's own


async def test_what_comes_up_in_place_of_a_lost_place_is_asked_about_too(mind: Mind) -> None:
    """Both places were left: the second comes up only when the first is out of the way."""
    attic = Audience("console", "local", "attic")
    for place, word, many in ((SECRET, "quokka", 40), (attic, "narwhal", 1)):
        for number in range(many):
            told = {"audience": place, "author": HANAKO}
            await mind.state(f"The vault opens with {word} {number}.", said=told)
    await mind.embedding.drain()
    model, leaves = ScriptedChatModel(["I cannot tell."]), Leaves(SECRET, attic)
    readable = Readable.of(TARO_DM, SECRET, attic)
    desk = Desk.over(mind, model)
    message = desk.incoming("What does the vault open with?", readable=readable)
    async for _ in desk.responder.handle(message, leaves):
        pass
    assert leaves.asked == {SECRET, attic}
    assert "quokka" not in str(model.asked)
    assert "narwhal" not in str(model.asked)

"""Answers after failures whose effect is not known, and after a crash at the worst moment."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adapters.slack_live import STREAM_CHARACTERS
from bot.messages import Delta, FileReply, Reply, Status
from tests.adapters.slack_stage import BOB, GENERAL, SlackStage, slack_stage
from tests.adapters.test_slack_format import fact
from tests.contracts.platform import Delivery, Killed, MemoryInbox, bare, deltas, stream
from tests.e2e.slack_double import Fault
from tests.e2e.slack_workspace import BOT_ID, BOT_USER

TEXT = "これは回答です。" * 40


@pytest.fixture
async def stage() -> AsyncIterator[SlackStage]:
    async with slack_stage() as stage:
        yield stage


@pytest.mark.parametrize(
    "fault", [Fault("internal_error", after=True), Fault(reset=True, after=True)]
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_call_that_failed_and_took_effect_leaves_one_answer(
    stage: SlackStage, fault: Fault, streamed: bool
) -> None:
    for method in ("chat.postMessage", "chat.startStream"):
        stage.slack.fail(method, fault)
    parts = deltas(TEXT) if streamed else []
    await Delivery(stage, await stage.mention("?"))(stream(*parts, Reply(TEXT)))
    assert stage.shown() == [TEXT]


async def test_piece_that_failed_and_took_effect_is_not_there_twice(stage: SlackStage) -> None:
    stage.slack.fail("chat.appendStream", Fault("internal_error", after=True))
    await Delivery(stage, await stage.mention("?"))(stream(*deltas(TEXT), Reply(TEXT)))
    assert stage.shown() == [TEXT]


async def test_stream_that_was_never_noted_is_found_after_a_crash() -> None:
    class DyingInbox(MemoryInbox):
        async def note_reply(self, event_id: int, reply_ref: str) -> None:
            raise Killed

    async with slack_stage(inbox=DyingInbox()) as stage:
        delivery = Delivery(stage, await stage.mention("?"))
        with pytest.raises(Killed):
            await delivery(stream(*deltas(TEXT), Reply(TEXT)))
        assert len(stage.shown()) == 1
        stage.inbox.note_reply = MemoryInbox().note_reply  # type: ignore[method-assign]
        await delivery.again(stream(*deltas(TEXT), Reply(TEXT)))
        assert stage.shown() == [TEXT]


async def test_answers_of_other_questions_survive_a_retry(stage: SlackStage) -> None:
    first = await stage.mention("one")
    await Delivery(stage, first)(stream(Reply("answer one")))
    second = Delivery(stage, await stage.mention_in(first.message_id, "two"))
    await second.again(stream(Reply("answer two")))
    assert stage.shown() == ["answer one", "answer two"]


async def test_when_it_cannot_be_known_nothing_is_sent(stage: SlackStage) -> None:
    delivery = Delivery(stage, await stage.mention("?"))
    stage.slack.missing_scopes["conversations.replies"] = "channels:history"
    assert await delivery.again(stream(Reply("maybe again"))) is None
    assert stage.shown() == []


async def test_question_that_is_gone_gets_no_answer(stage: SlackStage) -> None:
    message = await stage.mention("?")
    del stage.slack.workspace.messages[GENERAL][message.message_id]
    assert await Delivery(stage, message)(stream(Reply("too late"))) is None
    assert stage.shown() == []
    assert stage.shown_to("alice") == []


async def test_reply_that_fails_in_the_middle_leaves_no_half_answer(stage: SlackStage) -> None:
    class ModelBroke(Exception):
        pass

    async def broken() -> AsyncIterator[Delta]:
        yield Delta("half an answer")
        raise ModelBroke

    message = await stage.mention("?")
    with pytest.raises(ModelBroke):
        await Delivery(stage, message)(broken())
    assert stage.shown() == []


async def test_stream_without_an_end_is_an_error(stage: SlackStage) -> None:
    message = await stage.mention("?")
    with pytest.raises(ValueError, match="without the reply"):
        await Delivery(stage, message)(stream(Delta("half")))
    assert stage.shown() == []


async def test_status_is_shown_and_taken_away_when_nothing_is_posted(stage: SlackStage) -> None:
    message = await stage.mention("?")
    await Delivery(stage, message)(stream(Status("考えています"), Reply("", silent=True)))
    statuses = [(s["thread_ts"], s["status"]) for s in stage.slack.workspace.statuses]
    assert statuses == [(message.message_id, "考えています"), (message.message_id, "")]


async def test_status_that_is_refused_does_not_matter(stage: SlackStage) -> None:
    stage.slack.missing_scopes["assistant.threads.setStatus"] = "assistant:write"
    await Delivery(stage, await stage.mention("?"))(stream(Status("…"), Reply("answer")))
    assert stage.shown() == ["answer"]


async def test_streaming_that_is_not_possible_is_not_tried_twice(stage: SlackStage) -> None:
    stage.slack.missing_scopes["chat.startStream"] = "chat:write"
    for _ in range(2):
        await Delivery(stage, await stage.mention("?"))(stream(*deltas(TEXT), Reply(TEXT)))
    assert len(stage.slack.called("chat.startStream")) == 1
    assert stage.shown() == [TEXT, TEXT]


async def test_stream_shows_text_while_it_comes(stage: SlackStage) -> None:
    seen: list[str] = []

    async def watched() -> AsyncIterator[Delta | Reply]:
        for number in range(5):
            yield Delta(f"{number} ")
            seen.append(stage.shown()[0])
        yield Reply("0 1 2 3 4")

    await Delivery(stage, await stage.mention("?"))(watched())
    assert seen == ["0", "0 1", "0 1 2", "0 1 2 3", "0 1 2 3 4"]


async def test_stream_that_grows_too_long_goes_on_in_new_messages(stage: SlackStage) -> None:
    text = "とても長い文章です。" * 3000
    await Delivery(stage, await stage.mention("?"))(stream(*deltas(text, 900), Reply(text)))
    shown = stage.shown()
    assert len(shown) >= 3
    assert len(shown[0]) >= STREAM_CHARACTERS
    assert bare("".join(shown)) == text


async def test_buttons_and_sources_come_with_the_last_part(stage: SlackStage) -> None:
    text = "とても長い文章です。" * 3000
    reply = Reply(text, learned=(fact(1, "猫が好き"),), trace_id=1)
    await Delivery(stage, await stage.mention("?"))(stream(*deltas(text, 900), reply))
    answers = stage.slack.workspace.answers(GENERAL)
    assert [m["blocks"][-1]["type"] for m in answers[:-1]] == ["markdown"] * (len(answers) - 1)
    assert [b["type"] for b in answers[-1]["blocks"]] == ["markdown", "context", "actions"]


async def test_blocks_that_are_refused_become_text(stage: SlackStage) -> None:
    stage.slack.fail("chat.postMessage", Fault("invalid_blocks"))
    await Delivery(stage, await stage.mention("?"))(stream(Reply("**太字** [x](https://e.com)")))
    (message,) = stage.slack.workspace.answers(GENERAL)
    assert message["text"].endswith("<https://e.com|x>")
    assert "*太字*" in message["text"]


async def test_reply_without_text_still_shows_what_was_learned(stage: SlackStage) -> None:
    await Delivery(stage, await stage.mention("?"))(stream(Reply("", learned=(fact(1),))))
    (message,) = stage.slack.workspace.answers(GENERAL)
    assert "likes cats" in str(message["blocks"])


async def test_file_of_a_public_answer_goes_to_the_asker_alone(stage: SlackStage) -> None:
    file = FileReply("x.csv", "text/csv", b"a,b")
    await Delivery(stage, await stage.mention("?", user="bob"))(stream(Reply("Done.", file=file)))
    (shared,) = stage.slack.workspace.shared_files
    assert shared["channel_id"] == stage.slack.workspace.open_dm(BOB).id


async def test_message_of_the_bot_from_elsewhere_makes_no_trouble(stage: SlackStage) -> None:
    stage.slack.workspace.post(GENERAL, user=BOT_USER, bot_id=BOT_ID, text="posted by hand")
    delivery = Delivery(stage, await stage.mention("?"))
    await delivery.again(stream(Reply("answer")))
    assert stage.shown() == ["posted by hand", "answer"]

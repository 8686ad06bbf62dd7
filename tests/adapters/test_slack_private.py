"""What one person sees: commands answered, the Home tab, exported files."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.errors import PlatformUnavailable
from bot.messages import Choice, FileReply, Reply
from tests.adapters.slack_stage import ALICE, BOB, GENERAL, SlackStage, slack_stage, workspace
from tests.adapters.test_slack_format import fact
from tests.contracts.platform import LONG, bare, stream
from tests.e2e.slack_double import Fault
from tests.e2e.slack_workspace import BOT_USER, Json, shown_text


@pytest.fixture
async def stage() -> AsyncIterator[SlackStage]:
    made = workspace()
    made.open_dm(ALICE)
    async with slack_stage(made) as stage:
        yield stage


async def answered(stage: SlackStage, reply: Reply, *, text: str = "list") -> str | None:
    """Alice types a command in #general and gets `reply`."""
    count = len(stage.inbox.events)
    await stage.slack.command(ALICE, GENERAL, text)
    event = await stage.event(count)
    message = await stage.platform.incoming(event)
    assert message is not None
    return await stage.platform.deliver(event, message, stream(reply))


def texts(bodies: list[Json]) -> list[str]:
    return [shown_text(body) for body in bodies]


async def test_command_is_answered_through_its_response_url(stage: SlackStage) -> None:
    await answered(stage, Reply("一覧", choices=(Choice("More", "list 2"),), private=True))
    (body,) = stage.slack.responses
    assert shown_text(body) == "一覧"
    assert body["response_type"] == "ephemeral"
    assert body["blocks"][-1]["elements"][0]["value"] == "list 2"
    assert stage.shown() == []


async def test_reply_to_a_command_is_hidden_even_when_it_is_not_marked_private(
    stage: SlackStage,
) -> None:
    await answered(stage, Reply("from the DM"))
    assert stage.shown() == []
    assert texts(stage.slack.responses) == ["from the DM"]


async def test_long_reply_is_split_and_its_buttons_come_last(stage: SlackStage) -> None:
    text = "\n\n".join([LONG] * 3)
    await answered(stage, Reply(text, choices=(Choice("More", "list 2"),)))
    bodies = stage.slack.responses
    assert len(bodies) > 1
    assert bare("\n".join(texts(bodies))) == bare(text)
    assert [body["blocks"][-1]["type"] for body in bodies[:-1]] == ["markdown"] * (len(bodies) - 1)
    assert bodies[-1]["blocks"][-1]["type"] == "actions"


async def test_reply_longer_than_a_response_url_allows_is_ephemeral(stage: SlackStage) -> None:
    text = "\n\n".join([LONG] * 12)
    await answered(stage, Reply(text))
    assert stage.slack.responses == []
    assert bare("\n".join(stage.shown_to("alice"))) == bare(text)
    assert stage.shown_to("bob") == []


async def test_hidden_reply_is_not_sent_again_after_a_crash(stage: SlackStage) -> None:
    count = len(stage.inbox.events)
    await stage.slack.command(ALICE, GENERAL, "list")
    event = await stage.event(count)
    message = await stage.platform.incoming(event)
    assert message is not None
    await stage.platform.deliver(event, message, stream(Reply("一覧")))
    again = stage.inbox.again(event)
    assert await stage.platform.deliver(again, message, stream(Reply("一覧"))) is None
    assert texts(stage.slack.responses) == ["一覧"]


async def test_export_is_a_file_in_the_dm_and_nowhere_else(stage: SlackStage) -> None:
    file = FileReply("oboete.json", "application/json", '{"事実": []}'.encode())
    await answered(stage, Reply("Here it is.", file=file, private=True), text="export")
    (shared,) = stage.slack.workspace.shared_files
    assert shared["channel_id"] == "DALICE"
    assert shared["files"][0]["title"] == "oboete.json"
    assert list(stage.slack.workspace.uploads.values()) == [file.data]
    assert texts(stage.slack.responses) == ["Here it is."]


@pytest.mark.parametrize("fault", [Fault("internal_error"), Fault(reset=True)])
async def test_file_that_slack_does_not_take_now_is_tried_again_later(
    stage: SlackStage, fault: Fault
) -> None:
    stage.slack.fail("files.getUploadURLExternal", fault)
    file = FileReply("oboete.json", "application/json", b"{}")
    with pytest.raises(PlatformUnavailable):
        await answered(stage, Reply("Here it is.", file=file))
    assert stage.slack.workspace.shared_files == []


async def test_home_tab_is_published_for_whoever_opened_it(stage: SlackStage) -> None:
    await stage.slack.open_home(ALICE)
    event = await stage.event(0)
    message = await stage.platform.incoming(event)
    assert message is not None
    facts = (fact(1, "猫が好き"), fact(2, "lives in Kyoto", attribute="home"))
    reply = Reply("You know me", facts=facts, choices=(Choice("Pause", "pause me"),))
    await stage.platform.deliver(event, message, stream(reply))
    assert set(stage.slack.workspace.homes) == {ALICE}
    home = stage.slack.workspace.homes[ALICE]
    assert "猫が好き" in str(home)
    assert "戻る" not in str(home)
    again = stage.inbox.again(event)
    await stage.platform.deliver(again, message, stream(Reply("Nothing")))
    assert "Nothing" in str(stage.slack.workspace.homes[ALICE])


async def test_forgetting_in_the_home_tab_is_confirmed_and_shown_there(stage: SlackStage) -> None:
    await stage.slack.open_home(ALICE)
    opened = await stage.event(0)
    message = await stage.platform.incoming(opened)
    assert message is not None
    await stage.platform.deliver(opened, message, stream(Reply("I know", facts=(fact(12),))))
    home = stage.slack.workspace.homes[ALICE]
    button = next(b["accessory"] for b in home["blocks"] if "accessory" in b)
    await stage.slack.click(ALICE, button, view=home)
    await stage.slack.until(lambda: stage.slack.workspace.modals)
    await stage.slack.submit(ALICE, stage.slack.workspace.modals[0])
    event = await stage.event(1)
    action = await stage.platform.incoming(event)
    assert action is not None
    assert (action.text, action.arguments) == ("forget 12", {"view": "home"})
    await stage.platform.deliver(event, action, stream(Reply("忘れました: 1件")))
    shown = stage.slack.workspace.homes[ALICE]
    assert "忘れました" in str(shown)
    assert "一覧に戻る" in str(shown)


async def test_button_under_an_answer_is_answered_to_whoever_pressed_it(
    stage: SlackStage,
) -> None:
    message = await stage.mention("question")
    event = next(e for e in stage.inbox.events if e.delivery == message.event_id)
    await stage.platform.deliver(event, message, stream(Reply("Answer.", trace_id=7)))
    count = len(stage.inbox.events)
    await stage.press("なぜ?", user="bob")
    pressed = await stage.event(count)
    action = await stage.platform.incoming(pressed)
    assert action is not None
    assert (action.text, action.author.person.name) == ("why 7", BOB)
    assert action.thread == message.message_id
    assert "DALICE" not in {a.name for a in action.readable}
    await stage.platform.deliver(pressed, action, stream(Reply("Because.", private=True)))
    assert texts(stage.slack.responses) == ["Because."]
    assert stage.shown() == ["Answer."]


async def test_answer_shows_status_learned_sources_and_feedback(stage: SlackStage) -> None:
    message = await stage.say("猫が好き", channel="DALICE")
    event = next(e for e in stage.inbox.events if e.delivery == message.event_id)
    reply = Reply("覚えておきます。", learned=(fact(1, "猫が好き"),), trace_id=3)
    await stage.platform.deliver(event, message, stream(reply))
    (answer,) = stage.slack.workspace.answers("DALICE")
    assert answer["thread_ts"] == message.message_id
    assert "📝 覚えました: 猫が好き" in str(answer["blocks"])
    labels = [e["text"]["text"] for e in answer["blocks"][-1]["elements"]]
    assert labels == ["なぜ?", "👍", "👎"]


async def test_invited_bot_greets_in_the_channel_itself_and_once(stage: SlackStage) -> None:
    await stage.slack.join(BOT_USER, GENERAL)
    event = await stage.event(0)
    message = await stage.platform.incoming(event)
    assert message is not None
    await stage.platform.deliver(event, message, stream(Reply("I store what you tell me.")))
    again = stage.inbox.again(event)
    await stage.platform.deliver(again, message, stream(Reply("I store what you tell me.")))
    (greeting,) = stage.slack.workspace.answers(GENERAL)
    assert "thread_ts" not in greeting


@pytest.mark.parametrize("text", ["From now on I listen.", "チャンネルに知らせました"])
async def test_notice_is_posted_for_everybody_in_the_channel(stage: SlackStage, text: str) -> None:
    notice = "From now on I listen."
    await answered(stage, Reply(text, notice=notice), text="listen on")
    assert stage.shown() == [notice]
    assert texts(stage.slack.responses) == ([] if text == notice else [text])


async def test_notice_that_cannot_be_posted_is_told_to_the_person(stage: SlackStage) -> None:
    stage.slack.workspace.channels[GENERAL].members.discard(BOT_USER)
    await answered(stage, Reply("Paused.", notice="Paused."), text="pause")
    assert stage.shown() == []
    assert texts(stage.slack.responses) == ["Paused."]


async def test_notice_of_a_visible_reply_is_not_said_twice(stage: SlackStage) -> None:
    message = await stage.mention("listen to us")
    event = next(e for e in stage.inbox.events if e.delivery == message.event_id)
    await stage.platform.deliver(event, message, stream(Reply("Paused.", notice="Paused.")))
    assert stage.shown() == ["Paused."]

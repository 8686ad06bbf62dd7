"""What users of such bots complained about: one test or more for each, by its number.

13 ("clear" that leaves vectors behind) is about the memory and is tested there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from adapters.slack_format import POST_CHARACTERS, UPDATE_BYTES
from adapters.slack_gap import ANSWER_WITHIN, Followed
from bot.messages import Delta, EventKind, IncomingMessage, Mention, Reply, ReplyPart, Surface
from tests.adapters.echo_core import EchoCore
from tests.adapters.slack_stage import ALICE, BOB, GENERAL, SlackStage, slack_stage, workspace
from tests.contracts.platform import LONG, Delivery, bare, deltas, stream
from tests.e2e.slack_double import Fault
from tests.e2e.slack_workspace import BOT_USER, Workspace, shown_text


def places() -> Workspace:
    made = workspace()
    made.add_user("UGUEST", "Guest", restricted=True)
    made.add_channel("GSECRET", "private", ALICE)
    made.add_channel("GGROUP", "mpim", ALICE, BOB)
    made.open_dm(ALICE)
    made.open_dm(BOB)
    return made


@pytest.fixture
async def stage() -> AsyncIterator[SlackStage]:
    async with slack_stage(places()) as stage:
        yield stage


async def idle(stage: SlackStage, core: EchoCore) -> None:
    await stage.settled()
    await stage.slack.until(lambda: core.is_idle)


@pytest.mark.parametrize("twins", ["mention first", "message first"])
async def test_complaint_01_twins_and_redeliveries_get_one_answer(
    stage: SlackStage, twins: str
) -> None:
    async with EchoCore(stage.platform, stage.inbox) as core:
        await stage.slack.say(ALICE, GENERAL, f"<@{BOT_USER}> 猫", twins=twins)
        await stage.redeliver()
        await stage.slack.request_disconnect()
        await stage.slack.drop_sockets()
        await stage.slack.connected(beyond=1)
        await stage.redeliver()
        await idle(stage, core)
    assert stage.shown() == ["echo: 猫"]


async def test_complaint_01_copy_that_was_dropped_does_not_block_the_real_one(
    stage: SlackStage,
) -> None:
    ts = await stage.slack.say(ALICE, GENERAL, "no mention in this copy")
    event = {"type": "app_mention", "user": ALICE, "text": f"<@{BOT_USER}> real", "ts": ts}
    await stage.slack.emit(event | {"channel": GENERAL, "event_ts": ts})
    async with EchoCore(stage.platform, stage.inbox) as core:
        await idle(stage, core)
    assert stage.shown() == ["echo: real"]


@pytest.mark.parametrize(
    "who",
    [
        {"user": BOT_USER},
        {"user": "UOTHER", "bot_id": "BOTHER"},
        {"user": "UOTHER", "bot_profile": {"id": "BOTHER"}},
        {"subtype": "bot_message", "bot_id": "BOTHER"},
        {"user": "USLACKBOT"},
    ],
)
async def test_complaint_02_bots_are_never_answered(
    stage: SlackStage, who: dict[str, object]
) -> None:
    text = {"type": "message", "text": f"<@{BOT_USER}> hello", "ts": "1.1", "event_ts": "1.1"}
    await stage.slack.emit(
        text | who | {"channel": GENERAL, "channel_type": "channel"},
        text | who | {"channel": GENERAL, "type": "app_mention"},
        text | who | {"channel": "DALICE", "channel_type": "im"},
    )
    await stage.settled()
    assert stage.inbox.events == []


async def test_complaint_03_each_of_two_who_write_at_once_gets_their_own(
    stage: SlackStage,
) -> None:
    async def answer(message: IncomingMessage) -> AsyncIterator[ReplyPart]:
        readable = " ".join(sorted(a.name for a in message.readable))
        yield Delta(message.author.person.name)
        await asyncio.sleep(0.01)
        yield Reply(f"{message.author.person.name}: {readable}")

    async with EchoCore(stage.platform, stage.inbox, answer) as core:
        await asyncio.gather(
            *(
                stage.slack.say(user, dm, f"{n}")
                for n in range(5)
                for user, dm in ((ALICE, "DALICE"), (BOB, "DBOB"))
            )
        )
        await idle(stage, core)
    for user, dm, others in ((ALICE, "DALICE", "DBOB"), (BOB, "DBOB", "DALICE")):
        answers = [shown_text(m) for m in stage.slack.workspace.answers(dm)]
        assert len(answers) == 5
        assert all(a.startswith(user) and dm in a and others not in a for a in answers)
    assert "GSECRET" not in str(stage.slack.workspace.answers("DBOB"))


async def test_complaint_04_group_dm_and_unknown_places_are_not_private_to_one(
    stage: SlackStage,
) -> None:
    group = await stage.say(f"<@{BOT_USER}> hi", channel="GGROUP")
    assert group.surface is Surface.GROUP_DM
    assert {a.name for a in group.readable} == {GENERAL, "GGROUP"}
    event = {"type": "app_mention", "user": ALICE, "text": f"<@{BOT_USER}> hi", "ts": "9.9"}
    count = len(stage.inbox.events)
    await stage.slack.emit(event | {"channel": "GNOBODYKNOWS", "event_ts": "9.9"})
    unknown = await stage.platform.incoming(await stage.event(count))
    assert unknown is not None
    assert unknown.surface is Surface.UNKNOWN
    assert {a.name for a in unknown.readable} == {"GNOBODYKNOWS"}


async def test_complaint_04_private_memory_is_not_readable_with_a_guest_in_the_room(
    stage: SlackStage,
) -> None:
    await stage.slack.join("UGUEST", GENERAL)
    message = await stage.mention("what do you know about Alice?")
    assert {a.name for a in message.readable} == {GENERAL}


async def test_complaint_05_root_and_earlier_replies_are_context(stage: SlackStage) -> None:
    root = await stage.slack.say(ALICE, GENERAL, "サーバーが落ちた")
    for number in range(40):
        await stage.slack.say(BOB, GENERAL, f"reply {number}", thread_ts=root)
    message = await stage.mention_in(root, "what happened?")
    assert message.context[0].content == "サーバーが落ちた"
    assert [turn.content for turn in message.context[1:]] == [f"reply {n}" for n in range(10, 40)]
    assert message.text == "what happened?"


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        (f"`<@{BOT_USER}> list` shows all", None),
        (f"```\n<@{BOT_USER}>\n```", None),
        (f"&gt; <@{BOT_USER}> hi", None),
    ],
)
async def test_complaint_06_name_in_code_or_quote_is_no_mention(
    stage: SlackStage, text: str, blocks: None
) -> None:
    await stage.slack.say(ALICE, GENERAL, text)
    async with EchoCore(stage.platform, stage.inbox) as core:
        await idle(stage, core)
    assert stage.shown() == []


async def test_complaint_06_mention_that_is_only_in_rich_text_counts(stage: SlackStage) -> None:
    elements = [{"type": "user", "user_id": BOT_USER}, {"type": "text", "text": " 覚えて"}]
    section = {"type": "rich_text_section", "elements": elements}
    message = await stage.say("", blocks=[{"type": "rich_text", "elements": [section]}])
    assert message.mention is Mention.DIRECT
    assert message.text == "覚えて"


async def test_complaint_07_every_part_fits_and_code_stays_code(stage: SlackStage) -> None:
    text = LONG + "\n\n" + LONG
    await Delivery(stage, await stage.mention("?"))(stream(*deltas(text, 500), Reply(text)))
    shown = stage.shown()
    assert len(shown) > 1
    assert all(len(part) <= POST_CHARACTERS + 200 for part in shown)
    assert all(part.count("```") % 2 == 0 for part in shown)
    assert any(part.startswith("```python\n") for part in shown[1:])
    assert bare("\n".join(shown)) == bare(text)


@pytest.mark.parametrize(
    "faults",
    [
        [Fault(retry_after=0)] * 3,
        [Fault("internal_error")] * 3,
        [Fault("message_not_in_streaming_state")] * 50,
        [Fault("msg_too_long")] * 50,
        [Fault(reset=True)] * 2,
    ],
)
@pytest.mark.parametrize("text", ["短い答えです。" * 20, LONG])
async def test_complaint_08_final_text_is_complete_whatever_happens_to_a_stream(
    stage: SlackStage, faults: list[Fault], text: str
) -> None:
    for method in ("chat.appendStream", "chat.stopStream"):
        stage.slack.fail(method, *faults)
    await Delivery(stage, await stage.mention("?"))(stream(*deltas(text, 300), Reply(text)))
    assert bare("\n".join(stage.shown())) == bare(text)


@pytest.mark.parametrize(
    "faults",
    [[Fault(retry_after=0)] * 3, [Fault("fatal_error")] * 3, [Fault("msg_too_long")] * 50],
)
@pytest.mark.parametrize("text", ["短い答えです。" * 20, LONG])
async def test_complaint_08_final_text_is_complete_whatever_happens_to_edits(
    stage: SlackStage, faults: list[Fault], text: str
) -> None:
    stage.slack.missing_scopes["chat.startStream"] = "chat:write"
    stage.slack.fail("chat.update", *faults)
    await Delivery(stage, await stage.mention("?"))(stream(*deltas(text, 300), Reply(text)))
    shown = stage.shown()
    assert bare("\n".join(shown)) == bare(text)
    if len(faults) == 3:
        assert all(len(part.encode()) <= UPDATE_BYTES for part in shown[:1])


async def test_complaint_09_slow_answer_is_acknowledged_at_once(stage: SlackStage) -> None:
    release = asyncio.Event()

    async def slow(message: IncomingMessage) -> AsyncIterator[ReplyPart]:
        await release.wait()
        yield Reply("done", private=True)

    async with EchoCore(stage.platform, stage.inbox, slow) as core:
        command = await stage.slack.command(ALICE, GENERAL, "list")
        await stage.slack.say(ALICE, GENERAL, f"<@{BOT_USER}> hello")
        await stage.settled()
        assert command.acknowledged is not None
        assert core.done == 0
        release.set()
        await idle(stage, core)
    assert [r["response_type"] for r in stage.slack.responses] == ["ephemeral"]


async def test_complaint_09_late_command_falls_back_to_a_message(stage: SlackStage) -> None:
    count = len(stage.inbox.events)
    await stage.slack.command(ALICE, GENERAL, "list")
    event = await stage.event(count)
    event.payload["response_url"] = f"{stage.slack.origin}/expired/1"
    message = await stage.platform.incoming(event)
    assert message is not None
    await stage.platform.deliver(event, message, stream(Reply("一覧", private=True)))
    assert stage.shown_to("alice") == ["一覧"]
    stage.slack.workspace.channels[GENERAL].members.discard(BOT_USER)
    count = len(stage.inbox.events)
    await stage.slack.command(ALICE, GENERAL, "list")
    event = await stage.event(count)
    event.payload["response_url"] = ""
    message = await stage.platform.incoming(event)
    assert message is not None
    await stage.platform.deliver(event, message, stream(Reply("in the DM", private=True)))
    assert [shown_text(m) for m in stage.slack.workspace.answers("DALICE")] == ["in the DM"]


async def test_complaint_10_half_open_socket_is_noticed_and_replaced(stage: SlackStage) -> None:
    assert stage.platform.connected
    stage.slack.freeze()
    await stage.slack.say(ALICE, GENERAL, f"<@{BOT_USER}> are you there?")
    await stage.slack.until(lambda: not stage.platform.connected)
    await stage.slack.until(lambda: stage.platform.connected and stage.slack.connections > 1)
    await stage.slack.redeliver()
    await stage.settled()
    async with EchoCore(stage.platform, stage.inbox) as core:
        await idle(stage, core)
    assert stage.shown() == ["echo: are you there?"]


async def test_complaint_11_bold_japanese_goes_into_a_markdown_block(stage: SlackStage) -> None:
    text = "これは**太字**です。"
    await Delivery(stage, await stage.mention("?"))(stream(Reply(text)))
    (message,) = stage.slack.workspace.answers(GENERAL)
    assert message["blocks"] == [{"type": "markdown", "text": text}]
    assert "*" not in message["text"]
    (call,) = stage.slack.called("chat.postMessage")
    assert (call["unfurl_links"], call["unfurl_media"], call["parse"]) == (False, False, "none")


@pytest.mark.parametrize("minutes", [1, 11])
async def test_complaint_12_old_messages_are_stored_and_not_answered(minutes: int) -> None:
    since = datetime.now(UTC) - timedelta(hours=1)
    made = places()
    ts = made.next_ts(ago=minutes * 60)
    made.post("DALICE", ts=ts, user=ALICE, text="while you were away")

    async def followed() -> list[Followed]:
        return [Followed("DALICE", since)]

    async with slack_stage(made, followed=followed) as stage:
        message = await stage.platform.incoming(await stage.event(0))
    assert message is not None
    assert message.text == "while you were away"
    assert message.answer == (timedelta(minutes=minutes) < ANSWER_WITHIN)


async def test_complaint_14_missing_scope_is_named_to_the_asker(stage: SlackStage) -> None:
    stage.slack.fail(
        "chat.postMessage", Fault("missing_scope", details={"needed": "chat:write.public"})
    )
    await Delivery(stage, await stage.mention("?"))(stream(Reply("secret text")))
    assert stage.shown() == []
    (told,) = stage.shown_to("alice")
    assert "chat:write.public" in told
    assert "secret text" not in told
    assert stage.shown_to("bob") == []


async def test_complaint_14_errors_are_shown_to_the_asker_only(stage: SlackStage) -> None:
    await Delivery(stage, await stage.mention("?"))(
        stream(Delta("half an "), Reply("Something went wrong (id 7).", failed=True))
    )
    assert stage.shown() == []
    assert stage.shown_to("alice") == ["Something went wrong (id 7)."]


async def test_complaint_15_edit_names_its_revision_and_whether_it_mentions_the_bot(
    stage: SlackStage,
) -> None:
    message = await stage.mention("I live in Osaka")
    count = len(stage.inbox.events)
    await stage.edit(message, "I live in 京都")
    edited = await stage.platform.incoming(await stage.event(count))
    assert edited is not None
    assert (edited.kind, edited.text) == (EventKind.EDIT, "I live in 京都")
    assert edited.mention is Mention.DIRECT
    assert edited.revision > message.revision
    await stage.slack.edit(GENERAL, message.message_id, "I live in Nara")
    later = await stage.platform.incoming(await stage.event(count + 1))
    assert later is not None
    assert later.mention is Mention.NONE
    assert later.revision > edited.revision


async def test_complaint_15_unfurls_and_new_replies_are_no_edits(stage: SlackStage) -> None:
    message = await stage.mention("see https://example.com")
    count = len(stage.inbox.events)
    await stage.slack.edit(GENERAL, message.message_id, "Example page", unfurl=True)
    changed = {"user": ALICE, "text": "same", "ts": message.message_id}
    event = {"type": "message", "subtype": "message_changed", "channel": GENERAL, "ts": "9.1"}
    replies = {"message": changed | {"reply_count": 1}, "previous_message": changed}
    await stage.slack.emit(event | replies | {"event_ts": "9.1"})
    await stage.settled()
    assert len(stage.inbox.events) == count


async def test_answers_carry_no_secret_of_the_payload(stage: SlackStage) -> None:
    await stage.mention("hello")
    assert "verification" not in json.dumps([e.payload for e in stage.inbox.events])

"""From the wire to `IncomingMessage`: what is kept, what is dropped, and what it becomes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from adapters.slack_events import (
    FORGET,
    HOME,
    REMEMBER,
    SEARCH,
    SlackRules,
    delivery_of,
    lane_of,
)
from bot.messages import EventKind, IncomingMessage, Mention, Surface
from memory.types import Person
from tests.adapters.slack_stage import ALICE, BOB, GENERAL, SlackStage, slack_stage, workspace
from tests.e2e.slack_workspace import BOT_ID, BOT_USER, TEAM, Json, Workspace


def places() -> Workspace:
    made = workspace()
    made.users[BOB].admin = True
    made.add_channel("GSECRET", "private", ALICE, BOB)
    made.add_channel("GGROUP", "mpim", ALICE, BOB)
    made.open_dm(ALICE)
    return made


@pytest.fixture
async def stage() -> AsyncIterator[SlackStage]:
    async with slack_stage(places()) as stage:
        yield stage


async def parsed(stage: SlackStage, after: int) -> IncomingMessage:
    message = await stage.platform.incoming(await stage.event(after))
    assert message is not None
    return message


async def test_dm_needs_no_mention_and_is_one_conversation(stage: SlackStage) -> None:
    root = await stage.say("猫が好きです", channel="DALICE")
    reply = await stage.say("and dogs", channel="DALICE", thread_ts=root.message_id)
    assert root.surface is Surface.DM
    assert root.addressed
    assert (root.audience.name, root.conversation) == ("DALICE", "DALICE")
    assert (reply.conversation, reply.thread) == ("DALICE", root.message_id)
    assert {"DALICE", "GSECRET", GENERAL} <= {a.name for a in root.readable}
    assert root.locale == "ja-JP"
    assert root.author.time_zone == "Asia/Tokyo"


@pytest.mark.parametrize("channel", [GENERAL, "GSECRET", "GGROUP"])
async def test_elsewhere_only_what_is_addressed_reaches_the_disk(
    stage: SlackStage, channel: str
) -> None:
    await stage.slack.say(ALICE, channel, "just between us")
    await stage.say(f"<@{BOT_USER}> hello", channel=channel)
    assert "just between us" not in str(stage.inbox.events)


async def test_everything_is_wanted_where_the_bot_listens() -> None:
    async with slack_stage(places(), listens=lambda place: place.name == GENERAL) as stage:
        heard = await stage.say("just between us")
        assert not heard.addressed
        assert heard.mention is Mention.NONE


async def test_only_files_are_wanted_where_they_are_collected() -> None:
    async with slack_stage(places(), collects=lambda place: place.name == GENERAL) as stage:
        await stage.slack.say(ALICE, GENERAL, "just between us")
        await stage.slack.share_file(ALICE, "GSECRET", "", "計画.txt", b"plan")
        await stage.slack.share_file(ALICE, GENERAL, "", "規則.txt", b"rules")
        message = await stage.platform.incoming(await stage.event(0))
        assert message is not None
        assert not message.addressed
        assert [file.name for file in message.attachments] == ["規則.txt"]
        await stage.settled()
        assert len(stage.inbox.events) == 1


async def test_thread_is_followed_after_a_mention_in_it(stage: SlackStage) -> None:
    root = await stage.slack.say(ALICE, GENERAL, "the build is red")
    await stage.slack.say(BOB, GENERAL, "since noon", thread_ts=root)
    first = await stage.say(f"<@{BOT_USER}> why?", thread_ts=root)
    assert [(turn.name, turn.content) for turn in first.context] == [
        ("Alice", "the build is red"),
        ("Bob", "since noon"),
    ]
    assert first.conversation == f"{GENERAL}/{root}"
    follow_up = await stage.say("and now?", user=BOB, thread_ts=root)
    assert follow_up.addressed
    assert follow_up.mention is Mention.NONE
    assert [turn.content for turn in follow_up.context] == ["the build is red", "since noon"]


async def test_reply_in_another_thread_is_dropped_when_looked_up(stage: SlackStage) -> None:
    root = await stage.slack.say(ALICE, GENERAL, "lunch?")
    count = len(stage.inbox.events)
    await stage.slack.say(BOB, GENERAL, "yes", thread_ts=root)
    assert await stage.platform.incoming(await stage.event(count)) is None
    await stage.say(f"<@{BOT_USER}> where?", thread_ts=root)
    later = len(stage.inbox.events)
    await stage.slack.say(BOB, GENERAL, "there", thread_ts=root)
    assert (await parsed(stage, later)).addressed


async def test_names_are_resolved_and_ids_stay_attached(stage: SlackStage) -> None:
    message = await stage.say(f"<@{BOT_USER}> ask <@{BOB}> in <#{GENERAL}>")
    assert message.text == "ask @Bob in #cgeneral"
    assert message.references == (("Bob", Person("slack", TEAM, BOB)),)


@pytest.mark.parametrize("named", ["<#GSECRET>", "<#GSECRET|layoffs>", "<#GGROUP>", "<#GNOWHERE>"])
async def test_names_of_private_channels_are_not_told(stage: SlackStage, named: str) -> None:
    message = await stage.say(f"<@{BOT_USER}> {named} で会う")
    assert message.text == "#… で会う"
    root = await stage.slack.say(ALICE, GENERAL, f"we meet in {named}")
    asked = await stage.say(f"<@{BOT_USER}> where?", thread_ts=root)
    assert [turn.content for turn in asked.context] == ["we meet in #…"]


async def test_secrets_are_gone_before_anything_is_written(stage: SlackStage) -> None:
    secret = "sk-test-0123456789abcdef"
    block = {"type": "rich_text_section", "elements": [{"type": "text", "text": secret}]}
    blocks = [{"type": "rich_text", "elements": [block]}]
    message = await stage.say(f"key {secret}", channel="DALICE", blocks=blocks)
    assert secret not in str(stage.inbox.events)
    assert message.text == "[redacted]"


async def test_file_comes_with_its_message(stage: SlackStage) -> None:
    file = {
        "id": "F1",
        "name": "議事録.pdf",
        "mimetype": "application/pdf",
        "size": 10,
        "url_private_download": "https://files.slack.com/F1",
    }
    gone = {"id": "F2", "mode": "tombstone"}
    message = await stage.say(
        f"<@{BOT_USER}>",
        twins="no mention",
        subtype="file_share",
        files=[file, gone],
    )
    assert [(a.id, a.name, a.size) for a in message.attachments] == [("F1", "議事録.pdf", 10)]


async def test_permalink_leads_into_the_thread(stage: SlackStage) -> None:
    root = await stage.say(f"<@{BOT_USER}> one")
    assert root.permalink == (
        f"https://oboete.slack.com/archives/{GENERAL}/p{root.message_id.replace('.', '')}"
    )
    reply = await stage.say("two", thread_ts=root.message_id)
    assert reply.permalink
    assert reply.permalink.endswith(f"?thread_ts={root.message_id}&cid={GENERAL}")


async def test_command_in_a_channel_is_between_the_person_and_the_bot(stage: SlackStage) -> None:
    count = len(stage.inbox.events)
    await stage.slack.command(ALICE, GENERAL, f"remember <@{BOB}|bob> likes 寿司")
    message = await parsed(stage, count)
    assert message.kind is EventKind.COMMAND
    assert message.text == "remember @Bob likes 寿司"
    assert message.audience.name == "DALICE"
    assert message.here.name == GENERAL
    assert message.private_reply
    assert {"DALICE", "GSECRET"} <= {a.name for a in message.readable}
    assert message.references == (("Bob", Person("slack", TEAM, BOB)),)


async def test_command_in_the_dm_is_part_of_it(stage: SlackStage) -> None:
    count = len(stage.inbox.events)
    await stage.slack.command(ALICE, "DALICE", "list")
    message = await parsed(stage, count)
    assert message.surface is Surface.DM
    assert message.place is None
    assert message.conversation == "DALICE"


async def test_remember_shortcut_names_the_chosen_message(stage: SlackStage) -> None:
    ts = await stage.slack.say(BOB, GENERAL, "<@UALICE> moved to *Kyoto*")
    count = len(stage.inbox.events)
    await stage.slack.shortcut(ALICE, REMEMBER, GENERAL, ts)
    message = await parsed(stage, count)
    assert (message.kind, message.text) == (EventKind.COMMAND, "remember")
    assert message.reply_to == ts
    assert message.quoted == "@Alice moved to **Kyoto**"
    assert message.author.person.name == ALICE
    assert message.arguments["quoted_author"] == f"slack:{TEAM}:{BOB}"
    assert message.arguments["quoted_audience"] == f"slack:{TEAM}:{GENERAL}"


async def test_forget_shortcut_asks_in_a_modal_first(stage: SlackStage) -> None:
    ts = await stage.slack.say(BOB, GENERAL, "I live in Osaka")
    count = len(stage.inbox.events)
    await stage.slack.shortcut(ALICE, FORGET, GENERAL, ts)
    await stage.slack.until(lambda: stage.slack.workspace.modals)
    assert len(stage.inbox.events) == count
    modal = stage.slack.workspace.modals[0]
    assert modal["title"]["text"] == "確認"
    await stage.slack.submit(ALICE, modal)
    message = await parsed(stage, count)
    assert (message.kind, message.text) == (EventKind.COMMAND, "forget")
    assert (message.reply_to, message.here.name) == (ts, GENERAL)


async def test_modal_submitted_by_somebody_else_is_dropped(stage: SlackStage) -> None:
    ts = await stage.slack.say(BOB, GENERAL, "I live in Osaka")
    await stage.slack.shortcut(ALICE, FORGET, GENERAL, ts)
    await stage.slack.until(lambda: stage.slack.workspace.modals)
    count = len(stage.inbox.events)
    await stage.slack.submit(BOB, stage.slack.workspace.modals[0])
    await stage.settled()
    assert len(stage.inbox.events) == count


async def test_home_tab_and_its_search_box(stage: SlackStage) -> None:
    count = len(stage.inbox.events)
    await stage.slack.open_home(ALICE)
    opened = await parsed(stage, count)
    assert (opened.kind, opened.arguments) == (EventKind.HOME, {"view": "home"})
    home: Json = {"type": "home", "id": "V1"}
    box = {"type": "plain_text_input", "action_id": SEARCH, "value": "猫"}
    await stage.slack.click(ALICE, box, view=home)
    found = await parsed(stage, count + 1)
    assert (found.kind, found.text) == (EventKind.ACTION, "search 猫")
    assert found.arguments == {"view": "home"}
    back = {"type": "button", "action_id": HOME, "value": "home"}
    await stage.slack.click(ALICE, back, view=home)
    assert (await parsed(stage, count + 2)).kind is EventKind.HOME


async def test_opening_the_dm_suggests_prompts_in_the_persons_language(stage: SlackStage) -> None:
    await stage.slack.open_home(ALICE, tab="messages")
    await stage.slack.until(lambda: stage.slack.workspace.prompts)
    prompts = stage.slack.workspace.prompts[0]
    assert prompts["channel_id"] == "DALICE"
    assert "何ができますか?" in [prompt["message"] for prompt in prompts["prompts"]]
    assert stage.inbox.events == []


async def test_reaction_to_the_bots_answer_is_feedback(stage: SlackStage) -> None:
    own = stage.slack.workspace.post(GENERAL, user=BOT_USER, bot_id=BOT_ID, text="42")
    other = await stage.slack.say(BOB, GENERAL, "lunch")
    count = len(stage.inbox.events)
    await stage.slack.react(ALICE, GENERAL, other, "+1")
    await stage.slack.react(ALICE, GENERAL, own["ts"], "+1")
    message = await parsed(stage, count)
    assert (message.kind, message.text, message.reply_to) == (EventKind.REACTION, "+1", own["ts"])


async def test_bot_that_is_invited_may_say_what_it_stores(stage: SlackStage) -> None:
    await stage.slack.join(BOB, GENERAL)
    await stage.slack.join(BOT_USER, GENERAL)
    message = await parsed(stage, 0)
    assert message.arguments == {"event": "joined"}
    assert message.channel == message.audience.name == GENERAL
    assert message.text == ""


async def test_deactivation_is_told_to_the_core(stage: SlackStage) -> None:
    await stage.slack.change_user(BOB, deleted=True)
    message = await parsed(stage, 0)
    assert message.arguments == {"event": "deactivated"}
    assert message.author.person.name == BOB
    assert len(message.readable) == 0


@pytest.mark.parametrize(
    "event",
    [
        {"type": "app_uninstalled"},
        {"type": "tokens_revoked", "tokens": {"bot": [BOT_USER], "oauth": []}},
    ],
)
async def test_uninstallation_is_told_to_the_core(stage: SlackStage, event: Json) -> None:
    await stage.slack.emit(event)
    assert (await parsed(stage, 0)).arguments == {"event": "uninstalled"}


async def test_deleted_file_is_told_to_the_core(stage: SlackStage) -> None:
    await stage.slack.emit({"type": "file_deleted", "file_id": "F1", "event_ts": "1.1"})
    message = await parsed(stage, 0)
    assert (message.kind, message.arguments) == (EventKind.DELETE, {"file": "F1"})
    assert len(message.readable) == 0


async def test_deletion_keeps_no_text(stage: SlackStage) -> None:
    message = await stage.say("大事な秘密", channel="DALICE")
    count = len(stage.inbox.events)
    await stage.delete(message)
    assert "大事な秘密" not in json.dumps(stage.inbox.events[count].payload, ensure_ascii=False)


async def test_root_that_is_deleted_under_its_replies_is_a_deletion(stage: SlackStage) -> None:
    message = await stage.mention("root")
    count = len(stage.inbox.events)
    stone = {"subtype": "tombstone", "ts": message.message_id, "user": "USLACKBOT", "text": "gone"}
    previous = {"user": ALICE, "ts": message.message_id, "text": "root"}
    await stage.slack.emit(
        {
            "type": "message",
            "subtype": "message_changed",
            "channel": GENERAL,
            "channel_type": "channel",
            "event_ts": "1.2",
            "ts": "1.2",
            "message": stone,
            "previous_message": previous,
        }
    )
    gone = await parsed(stage, count)
    assert (gone.kind, gone.message_id) == (EventKind.DELETE, message.message_id)


async def test_admins_of_the_workspace_are_admins(stage: SlackStage) -> None:
    assert (await stage.say(f"<@{BOT_USER}> hi", user=BOB)).author.is_admin
    assert not (await stage.say(f"<@{BOT_USER}> hi")).author.is_admin


@pytest.mark.parametrize(
    "rules",
    [
        SlackRules(denied_channels=frozenset({GENERAL})),
        SlackRules(allowed_channels=frozenset({"GSECRET"})),
        SlackRules(denied_users=frozenset({BOB})),
        SlackRules(allowed_users=frozenset({ALICE})),
    ],
)
async def test_what_the_lists_do_not_allow_never_reaches_the_disk(rules: SlackRules) -> None:
    async with slack_stage(places(), rules=rules) as stage:
        await stage.slack.say(BOB, GENERAL, f"<@{BOT_USER}> hi")
        await stage.slack.command(BOB, GENERAL, "list")
        await stage.settled()
        assert stage.inbox.events == []
        await stage.say("hello", channel="DALICE")


@pytest.mark.parametrize(
    ("payload", "lane"),
    [
        ({"event": {"type": "message", "channel": "C1", "ts": "1.1"}}, "C1/1.1"),
        (
            {"event": {"type": "message", "channel": "C1", "ts": "1.2", "thread_ts": "1.1"}},
            "C1/1.1",
        ),
        ({"event": {"type": "message", "channel": "D1", "ts": "1.2", "thread_ts": "1.1"}}, "D1"),
        ({"command": "/memory", "channel_id": "C1", "user_id": "U1"}, "user:U1"),
        ({"command": "/memory", "channel_id": "D1", "user_id": "U1"}, "D1"),
        ({"event": {"type": "app_home_opened", "user": "U1", "channel": "D1"}}, "D1"),
        ({"type": "block_actions", "user": {"id": "U1"}}, "user:U1"),
        ({"event": {"type": "file_deleted", "file_id": "F1"}}, "user:"),
    ],
)
def test_lane_is_the_conversation(payload: dict[str, Any], lane: str) -> None:
    assert lane_of(payload) == lane


def test_delivery_is_the_same_for_the_same_body_only() -> None:
    first, second = {"type": "x", "user": {"id": "U1"}}, {"user": {"id": "U1"}, "type": "x"}
    assert delivery_of(first) == delivery_of(second)
    assert delivery_of(first) != delivery_of(first | {"user": {"id": "U2"}})
    assert delivery_of({"event_id": "Ev1"} | first) == "Ev1"

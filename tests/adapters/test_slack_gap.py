"""After downtime: what was missed, edited or deleted is found, and nothing is invented."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from adapters.slack_gap import Followed
from bot.messages import EventKind, IncomingMessage
from tests.adapters.slack_stage import ALICE, BOB, GENERAL, slack_stage, workspace
from tests.e2e.slack_double import Fault
from tests.e2e.slack_workspace import BOT_ID, BOT_USER, Workspace

SINCE = datetime.now(UTC) - timedelta(hours=2)
MENTION = f"<@{BOT_USER}> "


def away() -> Workspace:
    made = workspace()
    made.open_dm(ALICE)
    return made


async def missed(made: Workspace, *conversations: Followed) -> list[IncomingMessage]:
    """What comes out of the inbox after a start."""

    async def followed() -> Sequence[Followed]:
        return conversations

    async with slack_stage(made, followed=followed) as stage:
        await stage.platform.read_again()
        found = [await stage.platform.incoming(event) for event in stage.inbox.events]
        return [message for message in found if message is not None]


async def test_missed_messages_are_found_in_the_channel_and_its_threads() -> None:
    made = away()
    before = made.next_ts(ago=3 * 3600)
    made.post(GENERAL, ts=before, user=ALICE, text=MENTION + "before the downtime")
    root = made.post(GENERAL, ts=made.next_ts(ago=600), user=ALICE, text=MENTION + "質問")
    made.post(GENERAL, ts=made.next_ts(ago=590), user=BOB, text="small talk")
    made.post(GENERAL, user=BOB, text="me too", thread_ts=root["ts"])
    made.post(GENERAL, user=BOT_USER, bot_id=BOT_ID, text="own", thread_ts=root["ts"])
    found = await missed(made, Followed(GENERAL, SINCE))
    assert [m.text for m in found] == ["質問", "me too"]
    assert [m.kind for m in found] == [EventKind.MESSAGE] * 2


async def test_missed_replies_are_found_in_a_followed_thread_and_in_a_dm() -> None:
    made = away()
    root = made.post(GENERAL, ts=made.next_ts(ago=3 * 3600), user=ALICE, text=MENTION + "old")
    made.post(GENERAL, user=BOB, text="a new reply", thread_ts=root["ts"])
    old = made.post("DALICE", ts=made.next_ts(ago=3 * 3600), user=ALICE, text="old")
    made.post("DALICE", user=ALICE, text="新しい", thread_ts=old["ts"])
    found = await missed(
        made,
        Followed(f"{GENERAL}/{root['ts']}", SINCE, {root["ts"]: ""}),
        Followed("DALICE", SINCE, {old["ts"]: ""}),
    )
    assert [(m.text, m.answer) for m in found] == [("a new reply", False), ("新しい", True)]


async def test_edit_and_deletion_that_were_missed_are_applied() -> None:
    made = away()
    kept = made.post("DALICE", ts=made.next_ts(ago=7200), user=ALICE, text="same")
    edited = made.post("DALICE", ts=made.next_ts(ago=7100), user=ALICE, text="京都に住んでいる")
    seen = made.post("DALICE", ts=made.next_ts(ago=7050), user=ALICE, text="seen edit")
    edited["edited"] = {"user": ALICE, "ts": "1800000000.000001"}
    seen["edited"] = {"user": ALICE, "ts": "1800000000.000002"}
    gone = made.next_ts(ago=7000)
    known = {kept["ts"]: "", edited["ts"]: "", seen["ts"]: "1800000000.000002", gone: ""}
    found = await missed(made, Followed("DALICE", SINCE, known))
    assert [(m.kind, m.message_id) for m in found] == [
        (EventKind.EDIT, edited["ts"]),
        (EventKind.DELETE, gone),
    ]
    assert found[0].text == "京都に住んでいる"
    assert found[0].revision == "1800000000.000001"
    assert not found[0].answer


async def test_conversation_that_cannot_be_read_deletes_nothing() -> None:
    made = away()
    made.add_channel("GLEFT", "private", ALICE).members.discard(BOT_USER)
    assert await missed(made, Followed("GLEFT", SINCE, {"1.1": ""})) == []


async def test_failing_read_deletes_nothing_and_leaves_the_rest_alone() -> None:
    made = away()
    ts = made.post("DALICE", user=ALICE, text="found")["ts"]

    conversations: list[Followed] = []

    async def followed() -> Sequence[Followed]:
        return conversations

    async with slack_stage(made, followed=followed) as stage:
        conversations += [Followed(GENERAL, SINCE, {"1.1": ""}), Followed("DALICE", SINCE)]
        stage.slack.fail("conversations.history", *[Fault("fatal_error")] * 4)
        await stage.platform.read_again()
        assert [e.payload["event"]["ts"] for e in stage.inbox.events] == [ts]


async def test_gap_is_read_again_after_an_outage() -> None:
    made = away()

    async def followed() -> Sequence[Followed]:
        return [Followed("DALICE", SINCE)]

    async with slack_stage(made, followed=followed) as stage:
        stage.slack.fail("apps.connections.open", *[Fault("internal_error")] * 3)
        await stage.slack.drop_sockets()
        await stage.slack.until(lambda: not stage.platform.is_connected)
        made.post("DALICE", user=ALICE, text="停電中に言ったこと")
        message = await stage.platform.incoming(await stage.event(0))
        assert message is not None
        assert message.text == "停電中に言ったこと"

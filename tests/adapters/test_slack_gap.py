"""After downtime: what was missed, edited or deleted is found, and nothing is invented."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from adapters.slack_gap import Followed
from bot.messages import EventKind, IncomingMessage, Said
from memory.types import Audience
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
    begun = asyncio.Event()

    async def followed() -> Sequence[Followed]:
        begun.set()
        return tuple(conversations)

    async with slack_stage(made, followed=followed) as stage:
        await begun.wait()  # the look at the start is over: it would take some of the failures
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
        await stage.slack.until(lambda: not stage.platform.connected)
        made.post("DALICE", user=ALICE, text="停電中に言ったこと")
        message = await stage.platform.incoming(await stage.event(0))
        assert message is not None
        assert message.text == "停電中に言ったこと"


async def test_reply_and_root_that_are_gone_are_found_by_looking_them_up() -> None:
    made = away()
    root = made.post(GENERAL, user=ALICE, text=MENTION + "質問")["ts"]
    kept, gone = [made.post(GENERAL, user=BOB, text=t, thread_ts=root)["ts"] for t in "ab"]
    del made.messages[GENERAL][gone]
    lost = made.next_ts()
    async with slack_stage(made) as stage:
        here = stage.platform

        def said(ts: str, thread: str) -> Said:
            link = f"https://x.slack.com/archives/{GENERAL}/p{ts.replace('.', '')}"
            reply = f"?thread_ts={thread}&cid={GENERAL}" if thread != ts else ""
            return Said(Audience("slack", "T1", GENERAL), ts, link + reply)

        looked_up = [said(root, root), said(kept, root), said(gone, root), said(lost, lost)]
        assert await here.recheck(looked_up) == 2
        found = [await here.incoming(event) for event in stage.inbox.events]
        assert [(m.kind, m.message_id, m.conversation) for m in found if m] == [
            (EventKind.DELETE, gone, f"{GENERAL}/{root}"),
            (EventKind.DELETE, lost, f"{GENERAL}/{lost}"),
        ]
        made.messages[GENERAL][root] |= {
            "subtype": "tombstone",
            "text": "This message was deleted.",
        }
        assert await here.recheck(looked_up[:2]) == 1
        assert await here.recheck(looked_up) == 0  # told once


async def test_file_that_was_deleted_is_found_by_looking_up_its_message() -> None:
    made = away()
    files = [{"id": "F1", "mode": "tombstone"}, {"id": "F2", "mode": "hosted"}]
    ts = made.post(GENERAL, user=ALICE, text="資料", files=files)["ts"]
    link = f"https://x.slack.com/archives/{GENERAL}/p{ts.replace('.', '')}"
    async with slack_stage(made) as stage:
        place = Audience("slack", "T1", GENERAL)
        said = [Said(place, ts, link, files=(file,)) for file in ("F1", "F2")]
        assert await stage.platform.recheck(said) == 1
        found = await stage.platform.incoming(stage.inbox.events[0])
        assert found is not None
        assert (found.kind, found.message_id) == (EventKind.DELETE, "F1")

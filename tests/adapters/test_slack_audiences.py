"""Readable sets from live membership: exact, at once after an event, and smaller in doubt."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from adapters.slack_audiences import SlackDirectory, place_of, user_of
from adapters.slack_calls import SlackCalls, web_client
from adapters.slack_events import event_of
from bot.messages import Surface
from memory.types import Readable
from tests.adapters.slack_stage import ALICE, BOB, GENERAL, SettableClock, slack_stage, workspace
from tests.contracts.platform import MemoryPrivacy
from tests.e2e.slack_double import Fault, SlackDouble
from tests.e2e.slack_workspace import BOT_USER, TEAM, Workspace

GUEST, STRANGER, ADMIN = "UGUEST", "USTRANGER", "UADMIN"


def populated() -> Workspace:
    """Two public and two private channels, a group DM and a shared channel."""
    made = workspace()
    made.add_user(GUEST, "Guest", restricted=True)
    made.add_user(STRANGER, "Stranger", stranger=True, team="TOTHER")
    made.add_channel("CRANDOM", "public", ALICE)
    made.add_channel("COTHER", "public", BOB)
    made.add_channel("CMIXED", "public", ALICE, GUEST)
    made.add_channel("GSECRET", "private", ALICE, BOB)
    made.add_channel("GALICE", "private", ALICE)
    made.add_channel("GGUEST", "private", ALICE, GUEST)
    made.add_channel("GGROUP", "mpim", ALICE, BOB)
    made.add_channel("CSHARED", "public", ALICE, STRANGER, ext_shared=True)
    made.open_dm(ALICE)
    return made


PUBLIC = {GENERAL, "CRANDOM", "COTHER", "CMIXED", "CSHARED"}


class Reader:
    def __init__(self, slack: SlackDouble) -> None:
        self.slack = slack
        self.clock = SettableClock()
        self.directory = SlackDirectory(
            SlackCalls(web_client("xoxb-1", slack.api_url), sleep=_no_sleep),
            TEAM,
            MemoryPrivacy(),
            self.clock,
        )

    async def places_in(self, channel: str) -> set[str]:
        return names(await self.directory.readable_in(channel))

    async def places_of(self, user: str) -> set[str]:
        return names(await self.directory.readable_by(user))


def names(readable: Readable) -> set[str]:
    return {audience.name for audience in readable}


async def _no_sleep(_: float) -> None:
    return None


@pytest.fixture
async def reader() -> AsyncIterator[Reader]:
    async with SlackDouble(populated()) as slack:
        yield Reader(slack)


@pytest.mark.parametrize(
    ("channel", "readable"),
    [
        (GENERAL, PUBLIC),
        ("CRANDOM", PUBLIC),
        ("GSECRET", PUBLIC | {"GSECRET"}),
        ("GGROUP", PUBLIC | {"GGROUP"}),
        ("CMIXED", {"CMIXED"}),
        ("GGUEST", {"GGUEST"}),
        ("CSHARED", {"CSHARED"}),
        ("CUNKNOWN", {"CUNKNOWN"}),
    ],
)
async def test_what_everybody_in_a_place_can_read(
    reader: Reader, channel: str, readable: set[str]
) -> None:
    assert await reader.places_in(channel) == readable


@pytest.mark.parametrize(
    ("user", "readable"),
    [
        (ALICE, PUBLIC | {"DALICE", "GSECRET", "GALICE", "GGUEST", "GGROUP"}),
        (BOB, PUBLIC | {"DBOB", "GSECRET", "GGROUP"}),
        (GUEST, {"DGUEST", "CMIXED", "GGUEST"}),
        (STRANGER, {"DSTRANGER", "CSHARED"}),
        ("UNOBODY", set()),
        (BOT_USER, set()),
    ],
)
async def test_what_one_person_can_read(reader: Reader, user: str, readable: set[str]) -> None:
    assert await reader.places_of(user) == readable


async def test_public_channel_that_becomes_private_is_no_longer_public(reader: Reader) -> None:
    assert "CRANDOM" in await reader.places_in(GENERAL)
    reader.slack.workspace.channels["CRANDOM"].kind = "private"
    reader.directory.note({"type": "message", "subtype": "channel_convert_to_private"})
    assert "CRANDOM" not in await reader.places_in(GENERAL)
    assert "CRANDOM" not in await reader.places_of(BOB)
    assert "CRANDOM" in await reader.places_of(ALICE)


async def test_leaving_and_joining_count_at_once(reader: Reader) -> None:
    assert "GSECRET" in await reader.places_of(BOB)
    reader.slack.workspace.channels["GSECRET"].members.discard(BOB)
    reader.directory.note({"type": "member_left_channel", "user": BOB, "channel": "GSECRET"})
    assert "GSECRET" not in await reader.places_of(BOB)
    assert await reader.places_in(GENERAL) == PUBLIC
    reader.slack.workspace.channels[GENERAL].members.add(GUEST)
    reader.directory.note({"type": "member_joined_channel", "user": GUEST, "channel": GENERAL})
    assert await reader.places_in(GENERAL) == {GENERAL}


async def test_sharing_and_a_new_guest_count_at_once(reader: Reader) -> None:
    assert await reader.places_in("GSECRET") == PUBLIC | {"GSECRET"}
    reader.slack.workspace.channels["GSECRET"].ext_shared = True
    reader.directory.note({"type": "channel_shared", "channel": "GSECRET"})
    assert await reader.places_in("GSECRET") == {"GSECRET"}
    bob = reader.slack.workspace.users[BOB]
    assert await reader.places_in(GENERAL) == PUBLIC
    bob.restricted = True
    reader.directory.note({"type": "user_change", "user": bob.to_api()})
    assert await reader.places_in(GENERAL) == {GENERAL}
    assert await reader.places_of(BOB) == {"DBOB", GENERAL, "COTHER", "GSECRET", "GGROUP"}


async def test_deactivated_person_reads_nothing(reader: Reader) -> None:
    assert await reader.places_of(BOB)
    bob = reader.slack.workspace.users[BOB]
    bob.deleted = True
    reader.directory.note({"type": "user_change", "user": bob.to_api()})
    assert await reader.places_of(BOB) == set()


async def test_what_no_event_told_is_known_after_five_minutes(reader: Reader) -> None:
    assert await reader.places_in(GENERAL) == PUBLIC
    reader.slack.workspace.channels["CRANDOM"].kind = "private"
    reader.clock.ahead = timedelta(minutes=4, seconds=50)
    assert "CRANDOM" in await reader.places_in(GENERAL)
    reader.clock.ahead = timedelta(minutes=5, seconds=1)
    assert "CRANDOM" not in await reader.places_in(GENERAL)


async def test_place_about_to_be_used_is_asked_about_anew(reader: Reader) -> None:
    used = Readable.of(reader.directory.audience("GSECRET"), reader.directory.audience(GENERAL))
    assert used.audiences <= (await reader.directory.readable_by(BOB)).audiences
    reader.slack.workspace.channels["GSECRET"].members.discard(BOB)
    assert "GSECRET" in await reader.places_of(BOB)
    now = await reader.directory.still_readable(used, channel="DBOB", only=BOB)
    assert names(now) == {GENERAL}
    reader.slack.workspace.channels["GSECRET"].members.add(GUEST)
    there = await reader.directory.still_readable(used, channel="GSECRET", only=None)
    assert names(there) == {"GSECRET"}


@pytest.mark.parametrize(
    ("method", "left"),
    [
        ("conversations.info", {"GSECRET"}),
        ("conversations.members", {"GSECRET"}),
        ("users.list", {"GSECRET"}),
        ("conversations.list", {"GSECRET"}),
    ],
)
async def test_what_cannot_be_found_out_is_left_out_of_a_channel(
    reader: Reader, method: str, left: set[str]
) -> None:
    reader.slack.fail(method, *[Fault("fatal_error")] * 20)
    assert await reader.places_in("GSECRET") == left


@pytest.mark.parametrize(
    ("method", "missing"),
    [
        ("users.info", {"COTHER"}),
        ("conversations.open", {"DALICE"}),
        ("users.conversations", {"GSECRET", "GALICE", "GGUEST", "GGROUP"}),
        ("conversations.list", {"COTHER"}),
    ],
)
async def test_what_cannot_be_found_out_is_left_out_for_a_person(
    reader: Reader, method: str, missing: set[str]
) -> None:
    everything = await reader.places_of(ALICE)
    fresh = Reader(reader.slack)
    reader.slack.fail(method, *[Fault("fatal_error")] * 20)
    found = await fresh.places_of(ALICE)
    assert found <= everything
    assert found.isdisjoint(missing)


async def test_scope_that_is_missing_leaves_out_and_does_not_fail(reader: Reader) -> None:
    reader.slack.missing_scopes["users.list"] = "users:read"
    assert await reader.places_in(GENERAL) == {GENERAL}


async def test_answer_that_an_event_overtook_is_not_kept(reader: Reader) -> None:
    read = reader.directory._read_public

    async def overtaken() -> frozenset[object]:
        answer = await read()
        reader.slack.workspace.channels["CRANDOM"].kind = "private"
        reader.directory.note({"type": "channel_archive", "channel": "CRANDOM"})
        return answer

    reader.directory._read_public = overtaken  # type: ignore[method-assign,assignment]
    await reader.places_in(GENERAL)
    reader.directory._read_public = read  # type: ignore[method-assign]
    assert "CRANDOM" not in await reader.places_in(GENERAL)


async def test_long_lists_are_read_to_their_end(reader: Reader) -> None:
    for number in range(450):
        reader.slack.workspace.add_user(f"U{number}", f"n{number}")
        reader.slack.workspace.channels[GENERAL].members.add(f"U{number}")
        reader.slack.workspace.add_channel(f"C{number}", "public")
    assert len(await reader.places_in(GENERAL)) == len(PUBLIC) + 450
    reader.slack.workspace.users["U449"].restricted = True
    assert await Reader(reader.slack).places_in(GENERAL) == {GENERAL}


def test_person_with_missing_fields_is_external() -> None:
    assert user_of({"id": "U1", "team_id": TEAM, "name": "x"}, TEAM).is_external
    assert user_of({"id": "U1", "team_id": "TX", "is_restricted": False}, TEAM).is_external
    assert not user_of({"id": "U1", "team_id": TEAM, "is_restricted": False}, TEAM).is_external


def test_place_with_missing_fields_is_unknown() -> None:
    assert place_of({"id": "C1"}).surface is Surface.UNKNOWN
    assert place_of({"id": "C1"}).is_shared
    assert place_of({"id": "C1", "is_private": False, "pending_shared": ["T2"]}).is_shared


async def test_events_on_the_wire_reach_the_directory() -> None:
    async with slack_stage(populated()) as stage:
        before = await stage.mention("hello")
        assert {a.name for a in before.readable} == PUBLIC
        await stage.slack.join(GUEST, GENERAL)
        assert names((await stage.mention("again")).readable) == {GENERAL}
        await stage.slack.leave(GUEST, GENERAL)
        await stage.slack.convert_to_private("CRANDOM")
        assert names((await stage.mention("again")).readable) == PUBLIC - {"CRANDOM"}
        await stage.slack.share(GENERAL)
        assert names((await stage.mention("again")).readable) == {GENERAL}
        await stage.slack.share(GENERAL, shared=False)
        await stage.slack.change_user(BOB, restricted=True)
        assert names((await stage.mention("again")).readable) == {GENERAL}
        assert not [
            e for e in stage.inbox.events if event_of(e.payload)["type"] == "channel_shared"
        ]


async def test_the_memory_is_told_what_is_private_and_what_is_public() -> None:
    async with slack_stage(populated()) as stage:
        message = await stage.say(f"<@{BOT_USER}> hello", channel="GSECRET")
        await stage.platform.readable_by(message.author.person)
        assert {a.name for a in stage.privacy.public} >= PUBLIC
        private = {a.name for a in stage.privacy.private}
        assert private >= {"GSECRET", "GALICE"}
        assert private.isdisjoint(PUBLIC)
        assert not any(name.startswith("D") for name in private)


async def test_platform_tells_what_a_person_and_a_place_can_read_now() -> None:
    async with slack_stage(populated()) as stage:
        message = await stage.mention("hello")
        await stage.slack.leave(ALICE, "GALICE")
        await stage.settled()
        alone = names(await stage.platform.readable_by(message.author.person))
        assert alone == PUBLIC | {"DALICE", "GSECRET", "GGUEST", "GGROUP"}
        assert names(await stage.platform.readable_for(message.audience)) == PUBLIC
        command = len(stage.inbox.events)
        await stage.slack.command(BOB, GENERAL, "list")
        private = await stage.platform.incoming(await stage.event(command))
        assert private is not None
        stage.slack.workspace.channels["GSECRET"].members.discard(BOB)
        assert "GSECRET" in names(private.readable)
        assert names(await stage.platform.still_readable(private, private.readable)) == (
            names(private.readable) - {"GSECRET"}
        )
        used = message.readable
        assert await stage.platform.still_readable(message, used) == used

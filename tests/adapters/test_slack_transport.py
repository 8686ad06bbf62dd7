"""Socket Mode and HTTP: committed before acknowledged, delivered again, refused when forged."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator

import pytest

from adapters.slack_http import MAX_BODY_BYTES, HttpEndpoint
from adapters.slack_platform import SlackPlatform, SlackSettings
from bot.errors import PlatformRefused, PlatformUnavailable
from bot.messages import IncomingMessage, Reply, ReplyPart
from memory.errors import StoreUnavailable
from tests.adapters.echo_core import EchoCore
from tests.adapters.slack_stage import (
    ALICE,
    GENERAL,
    SettableClock,
    SlackStage,
    redact,
    slack_stage,
    workspace,
)
from tests.contracts.platform import MemoryInbox, MemoryPrivacy
from tests.e2e.slack_double import SIGNING_SECRET, Fault, SlackDouble, event_callback
from tests.e2e.slack_workspace import BOT_USER, shown_text

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
SAID = event_callback(
    {
        "type": "app_mention",
        "user": ALICE,
        "channel": GENERAL,
        "ts": "1.1",
        "event_ts": "1.1",
        "text": f"<@{BOT_USER}> 秘密の言葉",
    },
    "Ev1",
)
BODY = json.dumps(SAID, ensure_ascii=False).encode()


@pytest.fixture
async def http() -> AsyncIterator[SlackStage]:
    async with slack_stage(http=True) as stage:
        yield stage


@pytest.mark.parametrize("over_http", [False, True])
async def test_event_that_was_not_stored_is_not_acknowledged_and_comes_again(
    over_http: bool,
) -> None:
    async with slack_stage(http=over_http) as stage:
        stage.inbox.failure = StoreUnavailable()
        await stage.slack.say(ALICE, GENERAL, f"<@{BOT_USER}> hi", twins="no mention")
        await stage.slack.say(ALICE, GENERAL, "a message that is nothing to the bot")
        await stage.slack.until(lambda: len(stage.slack.unacknowledged) == 1)
        assert stage.inbox.events == []
        stage.inbox.failure = None
        await stage.redeliver()
        assert len(stage.inbox.events) == 1


async def test_signed_request_is_received(http: SlackStage) -> None:
    status, _ = await http.slack.post_signed(BODY, JSON)
    assert status == 200
    assert len(http.inbox.events) == 1


async def test_address_is_verified_by_its_challenge(http: SlackStage) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "abc", "token": "x"}).encode()
    status, text = await http.slack.post_signed(body, JSON)
    assert (status, json.loads(text)) == (200, {"challenge": "abc"})


@pytest.mark.parametrize(
    ("body", "headers", "secret", "age", "status"),
    [
        (BODY, JSON, "0" * 32, 0, 401),
        (BODY, JSON, SIGNING_SECRET, 6 * 60, 401),
        (BODY, JSON, SIGNING_SECRET, -6 * 60, 401),
        (b"{not json: \xe7\xa7\x98", JSON, SIGNING_SECRET, 0, 400),
        ('{"秘密": '.encode(), JSON, SIGNING_SECRET, 0, 400),
        (b"payload=%7Bbroken", FORM, SIGNING_SECRET, 0, 400),
        (b"\xff\xfe\x00secret", JSON, SIGNING_SECRET, 0, 400),
        (b"[1, 2]", JSON, SIGNING_SECRET, 0, 400),
        (b'"text"', JSON, SIGNING_SECRET, 0, 400),
        (b"payload=7", FORM, SIGNING_SECRET, 0, 400),
        (b"x" * (10 << 20), JSON, SIGNING_SECRET, 0, 413),
        (BODY + b" " * MAX_BODY_BYTES, JSON, SIGNING_SECRET, 0, 413),
    ],
)
async def test_forged_old_broken_or_huge_request_is_refused_and_logged_without_content(
    http: SlackStage,
    caplog: pytest.LogCaptureFixture,
    body: bytes,
    headers: dict[str, str],
    secret: str,
    age: float,
    status: int,
) -> None:
    with caplog.at_level(logging.DEBUG):
        got, _ = await http.slack.post_signed(body, headers, secret=secret, age=age)
    assert got == status
    assert http.inbox.events == []
    assert "refused" in caplog.text
    assert "秘密" not in caplog.text
    assert "secret" not in caplog.text
    assert (await http.slack.post_signed(BODY, JSON))[0] == 200


async def test_request_without_a_signature_is_refused(http: SlackStage) -> None:
    assert http.slack.http_url
    async with http.slack.session.post(http.slack.http_url, data=BODY, headers=JSON) as answer:
        assert answer.status == 401
    assert http.inbox.events == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"type": "event_callback"},
        {"type": "event_callback", "event": {}},
        {"type": "event_callback", "event": {"type": "message"}},
        {"type": "event_callback", "event": {"type": "message", "channel": "C1", "ts": "x"}},
        {"type": "event_callback", "event": {"type": "message", "subtype": "message_changed"}},
        {"type": "event_callback", "event": {"type": "message", "subtype": "message_deleted"}},
        {"type": "event_callback", "event": {"type": "reaction_added", "item": None}},
        {"type": "event_callback", "event": {"type": "app_mention", "user": None, "text": None}},
        {"type": "event_callback", "event": {"type": "user_change", "user": "U1"}},
        {"type": "event_callback", "event": {"type": "member_joined_channel"}},
        {"type": "event_callback", "event": {"type": "something_new", "channel": {"id": "C1"}}},
        {"type": "block_actions", "actions": []},
        {"type": "block_actions", "actions": [{"action_id": "oboete_press:0"}], "user": {}},
        {"type": "view_submission", "view": {"callback_id": "oboete_confirm"}},
        {"type": "view_submission", "view": {"private_metadata": "nonsense"}},
        {"type": "message_action", "callback_id": "oboete_remember"},
        {"type": "message_action", "callback_id": "oboete_forget"},
    ],
)
async def test_body_that_lacks_everything_does_no_harm(
    http: SlackStage, caplog: pytest.LogCaptureFixture, body: dict[str, object]
) -> None:
    with caplog.at_level(logging.ERROR, logger="adapters"):
        await http.slack.post_signed(json.dumps(body).encode(), JSON)
        for event in http.inbox.events:
            await http.platform.incoming(event)
    assert not [r for r in caplog.records if r.exc_info]
    assert (await http.slack.post_signed(BODY, JSON))[0] == 200


async def test_reconnects_when_asked_and_when_dropped() -> None:
    async with slack_stage() as stage:
        await stage.slack.request_disconnect()
        await stage.slack.connected(beyond=1)
        connections = stage.slack.connections
        await stage.slack.drop_sockets()
        await stage.slack.connected(beyond=connections)
        assert (await stage.mention("まだいる?")).text == "まだいる?"
        assert stage.platform.last_inbound is not None


async def test_socket_that_the_sdk_cannot_revive_is_made_anew() -> None:
    async with slack_stage() as stage:
        stage.slack.fail("apps.connections.open", *[Fault("internal_error")] * 8)
        await stage.slack.drop_sockets()
        await stage.slack.until(lambda: not stage.platform.connected)
        await stage.slack.until(lambda: stage.slack.connections > 1, seconds=30)
        await stage.slack.until(lambda: stage.platform.connected)
        assert (await stage.mention("back")).text == "back"


@pytest.mark.parametrize(
    ("method", "fault", "error"),
    [
        ("auth.test", Fault("invalid_auth"), PlatformRefused),
        ("apps.connections.open", Fault("invalid_auth"), PlatformRefused),
        ("apps.connections.open", Fault("internal_error"), PlatformUnavailable),
    ],
)
async def test_start_that_fails_says_so(method: str, fault: Fault, error: type[Exception]) -> None:
    async with SlackDouble(workspace()) as slack:
        slack.fail(method, *[fault] * 9)
        settings = SlackSettings("xoxb-1", "xapp-1", api_url=slack.api_url, ping_seconds=0.1)
        platform = SlackPlatform(
            settings, MemoryInbox(), SettableClock(), redact, privacy=MemoryPrivacy()
        )
        with pytest.raises(error):
            await platform.run()


async def test_port_that_is_taken_says_so() -> None:
    async with slack_stage(http=True) as stage:
        assert stage.platform.address
        port = int(stage.platform.address.split(":")[2].split("/")[0])
        settings = SlackSettings(
            "xoxb-1", http=HttpEndpoint(SIGNING_SECRET, port=port), api_url=stage.slack.api_url
        )
        platform = SlackPlatform(
            settings, MemoryInbox(), SettableClock(), redact, privacy=MemoryPrivacy()
        )
        with pytest.raises(PlatformUnavailable, match=str(port)):
            await platform.run()


@pytest.mark.slow
async def test_500_mentions_in_50_threads_get_one_answer_each_in_order(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """With twins, redeliveries, two reconnects and 5 % API failures, while answers are slow."""
    caplog.set_level(logging.ERROR)

    async def slow(message: IncomingMessage) -> AsyncIterator[ReplyPart]:
        await asyncio.sleep(0.2)
        yield Reply(f"echo: {message.text}")

    async with slack_stage() as stage:
        roots = [await stage.slack.say(ALICE, GENERAL, f"thread {n}") for n in range(50)]
        stage.slack.failure_rate = 0.05
        async with EchoCore(stage.platform, stage.inbox, slow) as core:
            for number in range(500):
                order = "mention first" if number % 2 else "message first"
                text = f"<@{BOT_USER}> {number}"
                await stage.slack.say(
                    ALICE, GENERAL, text, twins=order, thread_ts=roots[number % 50]
                )
                if number in (150, 350):
                    connections = stage.slack.connections
                    await stage.slack.request_disconnect()
                    await stage.slack.drop_sockets()
                    await stage.slack.connected(beyond=connections)
                if number % 100 == 99:
                    await stage.slack.redeliver()
            await stage.slack.redeliver(everything=True)
            await stage.settled()
            await stage.slack.until(lambda: core.is_idle, seconds=120)
        for number, root in enumerate(roots):
            shown = [shown_text(m) for m in stage.slack.workspace.answers(GENERAL, root)]
            # What a reconnect swallowed comes later, as Slack delivers it again.
            arrived = [f"echo: {m.text}" for m in core.handled if m.thread == root]
            assert shown == arrived
            assert sorted(shown) == sorted(f"echo: {n}" for n in range(number, 500, 50))

"""The wire double behaves as Slack does where the adapter relies on it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import aiohttp.web
import pytest
from slack_sdk.signature import SignatureVerifier

from tests.e2e.slack_double import SIGNING_SECRET, Fault, SlackDouble
from tests.e2e.slack_workspace import BOT_USER, Workspace


@pytest.fixture
async def slack() -> AsyncIterator[SlackDouble]:
    workspace = Workspace()
    workspace.add_user("U1", "Alice")
    workspace.add_channel("C1", "public", "U1")
    workspace.add_channel("CELSE", "public", "U1").members.discard(BOT_USER)
    workspace.add_channel("GELSE", "private", "U1").members.discard(BOT_USER)
    async with SlackDouble(workspace) as slack:
        yield slack


async def call(slack: SlackDouble, method: str, **arguments: Any) -> dict[str, Any]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(slack.api_url + method, json=arguments) as answer,
    ):
        return dict(await answer.json())


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("chat.postMessage", {"channel": "CELSE", "text": "x"}, "not_in_channel"),
        ("chat.postMessage", {"channel": "GELSE", "text": "x"}, "channel_not_found"),
        ("chat.postMessage", {"channel": "C1"}, "no_text"),
        ("chat.postMessage", {"channel": "C1", "text": "x", "thread_ts": "1"}, "thread_not_found"),
        ("chat.postEphemeral", {"channel": "C1", "user": "U2", "text": "x"}, "user_not_in_channel"),
        ("chat.update", {"channel": "C1", "ts": "1", "text": "x"}, "message_not_found"),
        ("chat.startStream", {"channel": "C1", "thread_ts": "1"}, "missing_recipient_user_id"),
        ("conversations.info", {"channel": "GELSE"}, "channel_not_found"),
        ("users.info", {"user": "U9"}, "user_not_found"),
        ("no.such", {}, "unknown_method"),
    ],
)
async def test_refuses_what_slack_refuses(
    slack: SlackDouble, method: str, arguments: dict[str, Any], error: str
) -> None:
    assert await call(slack, method, **arguments) == {"ok": False, "error": error}


@pytest.mark.parametrize(
    "blocks",
    [
        [{"type": "divider"}] * 51,
        [{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}],
        [{"type": "markdown", "text": "x" * 6001}] * 2,
        [{"type": "actions", "elements": []}],
    ],
)
async def test_refuses_blocks_over_the_limits(slack: SlackDouble, blocks: list[object]) -> None:
    answer = await call(slack, "chat.postMessage", channel="C1", text="x", blocks=blocks)
    assert not answer["ok"]
    assert slack.workspace.messages["C1"] == {}


async def test_update_is_limited_in_bytes_and_drops_blocks(slack: SlackDouble) -> None:
    blocks = [{"type": "markdown", "text": "x"}]
    ts = (await call(slack, "chat.postMessage", channel="C1", text="x", blocks=blocks))["ts"]
    answer = await call(slack, "chat.update", channel="C1", ts=ts, text="あ" * 1334)
    assert answer["error"] == "msg_too_long"
    assert (await call(slack, "chat.update", channel="C1", ts=ts, text="y"))["ok"]
    assert "blocks" not in slack.workspace.messages["C1"][ts]


async def test_stream_takes_text_until_it_is_stopped(slack: SlackDouble) -> None:
    root = slack.workspace.post("C1", user="U1", text="?")["ts"]
    to = {"channel": "C1", "recipient_user_id": "U1", "recipient_team_id": "T1"}
    ts = (await call(slack, "chat.startStream", thread_ts=root, markdown_text="a", **to))["ts"]
    await call(slack, "chat.appendStream", channel="C1", ts=ts, markdown_text="b")
    refused = await call(slack, "chat.update", channel="C1", ts=ts, text="x")
    assert refused["error"] == "streaming_state_conflict"
    await call(slack, "chat.stopStream", channel="C1", ts=ts, markdown_text="c")
    late = await call(slack, "chat.appendStream", channel="C1", ts=ts, markdown_text="d")
    assert late["error"] == "message_not_in_streaming_state"
    assert slack.workspace.messages["C1"][ts]["text"] == "abc"


async def test_metadata_is_shown_only_when_asked_for(slack: SlackDouble) -> None:
    metadata = {"event_type": "x", "event_payload": {"n": 1}}
    await call(slack, "chat.postMessage", channel="C1", text="x", metadata=metadata)
    plain = await call(slack, "conversations.history", channel="C1")
    full = await call(slack, "conversations.history", channel="C1", include_all_metadata=True)
    assert "metadata" not in plain["messages"][0]
    assert full["messages"][0]["metadata"] == metadata


async def test_fails_once_for_each_fault(slack: SlackDouble) -> None:
    slack.fail("auth.test", Fault("fatal_error"), Fault(retry_after=3), Fault(reset=True))
    assert (await call(slack, "auth.test"))["error"] == "fatal_error"
    async with (
        aiohttp.ClientSession() as session,
        session.post(slack.api_url + "auth.test") as answer,
    ):
        assert (answer.status, answer.headers["Retry-After"]) == (429, "3")
    with pytest.raises(aiohttp.ClientError):
        await call(slack, "auth.test")
    assert (await call(slack, "auth.test"))["ok"]


async def test_same_failures_in_every_run() -> None:
    async def failures() -> list[bool]:
        async with SlackDouble() as slack:
            slack.failure_rate = 0.3
            answers = [await call(slack, "chat.delete", channel="C", ts="1") for _ in range(20)]
        return [answer["error"] == "message_not_found" for answer in answers]

    first = await failures()
    assert first == await failures()
    assert len(set(first)) == 2


async def test_lists_come_in_pages(slack: SlackDouble) -> None:
    for number in range(5):
        slack.workspace.add_channel(f"CX{number}", "public")
    seen: list[str] = []
    cursor = ""
    while True:
        page = await call(slack, "conversations.list", limit=3, cursor=cursor)
        seen += [channel["id"] for channel in page["channels"]]
        cursor = page["response_metadata"]["next_cursor"]
        if not cursor:
            break
    assert sorted(seen) == ["C1", "CELSE", *(f"CX{n}" for n in range(5))]


async def test_socket_gets_events_until_they_are_acknowledged(slack: SlackDouble) -> None:
    url = (await call(slack, "apps.connections.open"))["url"]
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
        assert (await socket.receive_json())["type"] == "hello"
        ts = await slack.say("U1", "C1", f"<@{BOT_USER}> 猫")
        frames = [await socket.receive_json() for _ in range(2)]
        kinds = [frame["payload"]["event"]["type"] for frame in frames]
        assert kinds == ["app_mention", "message"]
        assert {frame["payload"]["event"]["ts"] for frame in frames} == {ts}
        await socket.send_json({"envelope_id": frames[0]["envelope_id"]})
        await slack.until(lambda: len(slack.unacknowledged) == 1)
        await slack.redeliver()
        again = await socket.receive_json()
        assert again["envelope_id"] == frames[1]["envelope_id"]
        assert again["retry_attempt"] == 1


async def test_frozen_socket_says_nothing_more(slack: SlackDouble) -> None:
    url = (await call(slack, "apps.connections.open"))["url"]
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(url, autoping=False) as socket,
    ):
        await socket.receive_json()
        await socket.ping(b"1")
        assert (await socket.receive()).type is aiohttp.WSMsgType.PONG
        slack.freeze()
        await socket.ping(b"2")
        await slack.say("U1", "C1", "nobody hears this")
        with pytest.raises(TimeoutError):
            await socket.receive(timeout=0.1)


async def test_requests_over_http_are_signed(slack: SlackDouble) -> None:
    received: list[tuple[bytes, dict[str, str]]] = []

    async def receive(request: aiohttp.web.Request) -> aiohttp.web.Response:
        received.append((await request.read(), {k.lower(): v for k, v in request.headers.items()}))
        return aiohttp.web.Response(status=200 if len(received) > 1 else 500)

    server = aiohttp.web.Application()
    server.router.add_post("/events", receive)
    runner = aiohttp.web.AppRunner(server)
    await runner.setup()
    site = aiohttp.web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    slack.http_url = f"http://127.0.0.1:{runner.addresses[0][1]}/events"
    await slack.say("U1", "C1", "hello")
    assert len(slack.unacknowledged) == 1
    await slack.redeliver()
    await runner.cleanup()
    assert slack.unacknowledged == []
    for body, headers in received:
        assert SignatureVerifier(SIGNING_SECRET).is_valid_request(body, headers)
        assert json.loads(body)["event"]["text"] == "hello"
    assert "x-slack-retry-num" not in received[0][1]
    assert received[1][1]["x-slack-retry-num"] == "1"

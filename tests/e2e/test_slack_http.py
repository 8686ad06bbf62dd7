"""`oboete run --http`: the same bot behind signed requests, and what it does with all others."""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.e2e.slack_double import SIGNING_SECRET, SlackDouble, event_callback
from tests.e2e.slack_run import SlackRun, copied, oboete_run
from tests.e2e.slack_workspace import BOT_USER, TEAM, Workspace, shown_text

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALICE, CHANNEL = "UALICE", "CGENERAL"
JSON = {"Content-Type": "application/json"}
CONTRABAND = "periwinkle"
"""In every refused body: must be nowhere afterwards."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def run(tmp_path_factory: pytest.TempPathFactory, prepared: Path) -> AsyncIterator[SlackRun]:
    made = Workspace()
    made.add_user(ALICE, "Alice")
    made.add_channel(CHANNEL, "public", ALICE)
    folder = copied(prepared, tmp_path_factory.mktemp("http") / "data")
    async with SlackDouble(made) as slack, oboete_run(slack, folder, http=True) as running:
        yield running


def said(text: str) -> bytes:
    """The body of a mention that nobody posted."""
    event = {
        "type": "app_mention", "user": ALICE, "channel": CHANNEL, "team": TEAM,
        "text": f"<@{BOT_USER}> {text}", "ts": "1700000000.000001", "event_ts": "1700000000.000001",
    }  # fmt: skip
    return json.dumps(event_callback(event, "EvFORGED")).encode()


def nothing_came_of_it(run: SlackRun) -> None:
    """No event is stored, the log has no word of it, and the program still runs."""
    assert CONTRABAND not in run.log_text()
    assert CONTRABAND.encode() not in run.bytes_on_disk()
    assert "Traceback" not in run.log_text()


async def test_a_signed_mention_is_answered_once_whatever_is_delivered_again(
    run: SlackRun,
) -> None:
    ts = await run.say(ALICE, CHANNEL, f"<@{BOT_USER}> My sailing boat is called Petrel.")
    await run.slack.redeliver(everything=True)
    await run.settled()
    (answer,) = run.slack.workspace.answers(CHANNEL, ts)
    assert "Petrel" in shown_text(answer)


async def test_commands_and_the_home_tab_work_over_http(run: SlackRun) -> None:
    await run.dm(ALICE, "My favourite gin is from Kyoto.")
    assert "Kyoto" in await run.command(ALICE, CHANNEL, "list")
    assert "Kyoto" in await run.home(ALICE)


async def test_a_wrong_signature_is_refused(run: SlackRun) -> None:
    status, _ = await run.slack.post_signed(said(CONTRABAND), JSON, secret="0" * 32)
    assert status == 401
    nothing_came_of_it(run)


@pytest.mark.parametrize("age", [301, 86_400, -301])
async def test_a_timestamp_that_is_too_far_away_is_refused(run: SlackRun, age: float) -> None:
    status, _ = await run.slack.post_signed(said(CONTRABAND), JSON, age=age)
    assert status == 401
    nothing_came_of_it(run)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Slack-Signature": "v0="},
        {"X-Slack-Signature": "v0=00", "X-Slack-Request-Timestamp": "soon"},
        {"X-Slack-Signature": "", "X-Slack-Request-Timestamp": "9" * 400},
        {"X-Slack-Signature": "v0=é", "X-Slack-Request-Timestamp": str(int(time.time()))},
    ],
)
async def test_headers_that_are_missing_or_senseless_are_refused(
    run: SlackRun, headers: dict[str, str]
) -> None:
    assert run.slack.http_url
    async with run.slack.session.post(
        run.slack.http_url, data=said(CONTRABAND), headers=JSON | headers
    ) as response:
        assert response.status in (400, 401)
    nothing_came_of_it(run)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        CONTRABAND.encode(),
        b"{" + CONTRABAND.encode(),
        b"[1, 2]",
        b"null",
        b"\xff\xfe" + CONTRABAND.encode(),
        b"\x00" * 100 + CONTRABAND.encode(),
        json.dumps({"type": CONTRABAND}).encode(),
        json.dumps({"type": "event_callback", "event": CONTRABAND}).encode(),
        json.dumps({"type": "event_callback", "event": {"type": ["message"]}}).encode(),
        json.dumps({"type": "event_callback", "event": {"type": "message"}}).encode(),
        b"payload=" + CONTRABAND.encode(),
        b"payload=%7B%22type%22%3A%22block_actions%22%7D",
        b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("kind", ["application/json", "application/x-www-form-urlencoded"])
async def test_garbage_is_survived_even_when_it_is_signed(
    run: SlackRun, body: bytes, kind: str
) -> None:
    status, _ = await run.slack.post_signed(body, {"Content-Type": kind})
    assert status in (200, 400, 404)
    await run.settled()
    nothing_came_of_it(run)


@pytest.mark.parametrize("signed", [True, False])
async def test_ten_megabytes_are_refused(run: SlackRun, signed: bool) -> None:
    body = said(CONTRABAND * 1_000_000)
    assert len(body) > 10_000_000
    stamp = str(int(time.time()))
    digest = hmac.new(
        SIGNING_SECRET.encode(), b"v0:%s:%s" % (stamp.encode(), body), hashlib.sha256
    ).hexdigest()
    headers = JSON | {"X-Slack-Request-Timestamp": stamp}
    headers["X-Slack-Signature"] = f"v0={digest if signed else '0' * 64}"
    assert run.slack.http_url
    try:
        async with run.slack.session.post(
            run.slack.http_url, data=io.BytesIO(body), headers=headers
        ) as response:
            assert response.status == 413
    except aiohttp.ClientConnectionError:
        pass  # it hung up in the middle, which is as good
    nothing_came_of_it(run)
    assert "Uji" in await run.dm(ALICE, "My favourite tea is from Uji.")

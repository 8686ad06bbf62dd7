"""Errors of Slack's Web API become those of the core, and only harmless calls are repeated."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adapters.slack_calls import (
    MAX_WAIT_SECONDS,
    RETRY_DELAYS,
    TRANSIENT,
    SlackBusy,
    SlackCalls,
    SlackRefused,
    SlackUnavailable,
    web_client,
)
from bot.errors import BotFault, PlatformRefused, PlatformUnavailable
from tests.e2e.slack_double import TOKEN, Fault, SlackDouble
from tests.e2e.slack_workspace import Workspace


class Line:
    def __init__(self, slack: SlackDouble) -> None:
        self.slack = slack
        self.slept: list[float] = []
        self.calls = SlackCalls(web_client(TOKEN, slack.api_url), sleep=self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    workspace = Workspace()
    workspace.add_channel("C1", "public")
    async with SlackDouble(workspace) as slack:
        yield Line(slack)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        *((Fault(code), SlackUnavailable) for code in sorted(TRANSIENT)),
        (Fault(reset=True), SlackUnavailable),
        (Fault("channel_not_found"), SlackRefused),
        (Fault("invalid_auth"), SlackRefused),
        (Fault("something_new"), SlackRefused),
    ],
)
async def test_error_is_translated_and_the_call_not_repeated(
    line: Line, fault: Fault, error: type[BotFault]
) -> None:
    line.slack.fail("chat.postMessage", fault)
    with pytest.raises(error) as caught:
        await line.calls.write("chat.postMessage", channel="C1", text="x")
    assert isinstance(caught.value, (PlatformRefused, PlatformUnavailable))
    assert len(line.slack.called("chat.postMessage")) == 1


async def test_missing_scope_says_which_and_how_to_add_it(line: Line) -> None:
    line.slack.missing_scopes["users.list"] = "users:read"
    with pytest.raises(SlackRefused, match=r"users:read.*users\.list") as caught:
        await line.calls.read("users.list")
    assert "users:read" in caught.value.fix
    assert caught.value.code == "missing_scope"


async def test_rate_limit_is_waited_for_as_long_as_slack_says(line: Line) -> None:
    line.slack.fail("chat.postMessage", Fault(retry_after=7), Fault(retry_after=3000))
    await line.calls.write("chat.postMessage", channel="C1", text="x")
    assert line.slept == [7, MAX_WAIT_SECONDS]
    assert len(line.slack.workspace.answers("C1")) == 1


async def test_what_is_not_worth_waiting_for_does_not_wait(line: Line) -> None:
    line.slack.fail("chat.postMessage", Fault(retry_after=7))
    with pytest.raises(SlackBusy):
        await line.calls.write_now("chat.postMessage", channel="C1", text="x")
    assert line.slept == []


async def test_reading_is_repeated_until_it_succeeds_or_has_failed_often(line: Line) -> None:
    line.slack.fail("auth.test", Fault("internal_error"), Fault(reset=True), Fault(retry_after=2))
    assert (await line.calls.read("auth.test"))["ok"]
    assert line.slept == [RETRY_DELAYS[0], RETRY_DELAYS[1], 2]
    line.slack.fail("auth.test", *[Fault("internal_error")] * 4)
    with pytest.raises(SlackUnavailable):
        await line.calls.read("auth.test")
    assert (await line.calls.read("auth.test"))["ok"]


async def test_nobody_at_the_address_is_unavailable() -> None:
    calls = SlackCalls(web_client(TOKEN, "http://127.0.0.1:9/api/"))
    with pytest.raises(SlackUnavailable):
        await calls.write("auth.test")


async def test_error_carries_neither_token_nor_text(line: Line) -> None:
    line.slack.fail("chat.postMessage", Fault("internal_error"))
    with pytest.raises(SlackUnavailable) as caught:
        await line.calls.write("chat.postMessage", channel="C1", text="秘密")
    assert TOKEN not in str(caught.value)
    assert "秘密" not in str(caught.value)

"""Nothing that people say, and no token, is ever logged, not even at DEBUG."""

from __future__ import annotations

import logging

import pytest

from bot.messages import Reply
from tests.adapters.echo_core import EchoCore
from tests.adapters.slack_stage import ALICE, GENERAL, slack_stage
from tests.contracts.platform import Delivery, deltas, stream
from tests.e2e.slack_double import SIGNING_SECRET, TOKEN, Fault
from tests.e2e.slack_workspace import BOT_USER

WORDS = "とても秘密の言葉"


@pytest.mark.parametrize("http", [False, True])
async def test_neither_words_nor_tokens_are_logged(
    caplog: pytest.LogCaptureFixture, http: bool
) -> None:
    with caplog.at_level(logging.DEBUG):
        async with slack_stage(http=http) as stage:
            async with EchoCore(stage.platform, stage.inbox) as core:
                await stage.slack.say(ALICE, GENERAL, f"<@{BOT_USER}> {WORDS}")
                await stage.slack.command(ALICE, GENERAL, f"search {WORDS}")
                await stage.settled()
                await stage.slack.until(lambda: core.is_idle)
            for method in ("chat.postMessage", "chat.appendStream", "chat.stopStream"):
                stage.slack.fail(method, Fault("internal_error"), Fault("invalid_blocks"))
            answer = Delivery(stage, await stage.mention(WORDS))
            await answer(stream(*deltas(WORDS * 9), Reply(WORDS * 9)))
            stage.slack.fail("chat.postMessage", Fault("not_in_channel"))
            await Delivery(stage, await stage.mention(WORDS))(stream(Reply(WORDS)))
    assert caplog.records
    for hidden in (WORDS, "\\u3068\\u3066\\u3082", TOKEN, "xapp-1", SIGNING_SECRET, "/respond/"):
        assert hidden not in caplog.text

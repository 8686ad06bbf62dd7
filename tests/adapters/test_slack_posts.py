"""What the bot posts in Slack without being asked: reminders and digests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bot.errors import PlatformRefused, PlatformUnavailable
from memory.types import Audience
from tests.adapters.slack_stage import ALICE, GENERAL, SlackStage, slack_stage
from tests.e2e.slack_double import Fault

HERE = Audience("slack", "T1", GENERAL)


@pytest.fixture
async def stage() -> AsyncIterator[SlackStage]:
    async with slack_stage() as stage:
        yield stage


async def test_a_post_goes_to_the_thread_of_its_conversation_else_to_the_place(
    stage: SlackStage,
) -> None:
    root = (await stage.mention("毎週月曜に思い出させて")).message_id
    elsewhere = stage.slack.workspace.add_channel("COTHER", "public", ALICE).id
    other = stage.slack.workspace.post(elsewhere, user=ALICE, text="root")["ts"]
    for conversation in (f"{GENERAL}/{root}", GENERAL, f"{elsewhere}/{other}", f"{GENERAL}/1.1"):
        await stage.platform.post(HERE, "起きて", conversation=conversation)
    threads = [answer.get("thread_ts") for answer in stage.slack.workspace.answers(GENERAL)]
    assert threads == [root, None, None, None]  # a thread elsewhere, and one that is gone
    assert stage.slack.workspace.answers(elsewhere) == []


async def test_a_place_named_after_its_person_is_their_dm(stage: SlackStage) -> None:
    person = replace(HERE, name=ALICE)
    await stage.platform.post(person, "wake up", conversation=f"user:{ALICE}")
    assert stage.shown_to("alice") == ["wake up"]
    readable = await stage.platform.readable_for(person)
    assert {audience.name for audience in readable} == {"DALICE", GENERAL}


async def test_a_post_that_was_certainly_not_shown_may_be_tried_again(stage: SlackStage) -> None:
    stage.slack.fail("chat.postMessage", *[Fault(retry_after=0)] * 40)
    with pytest.raises(PlatformUnavailable):
        await stage.platform.post(HERE, "wake up", conversation="")
    assert stage.shown() == []


async def test_a_post_waits_while_slack_does_not_answer(stage: SlackStage) -> None:
    stage.slack.fail("conversations.history", *[Fault(retry_after=0)] * 4)
    with pytest.raises(PlatformUnavailable):
        await stage.platform.post(HERE, "wake up", conversation="")
    assert stage.slack.called("chat.postMessage") == []


async def test_a_post_whose_answer_was_lost_is_found_and_not_sent_again(stage: SlackStage) -> None:
    stage.slack.fail("chat.postMessage", Fault(reset=True, after=True))
    sent = await stage.platform.post(HERE, "wake up", conversation="")
    (shown,) = stage.slack.workspace.answers(GENERAL)
    assert sent == shown["ts"]


async def test_half_a_long_post_counts_as_posted(stage: SlackStage) -> None:
    shown_at_first = Fault("internal_error", after=True)
    stage.slack.fail("chat.postMessage", shown_at_first, Fault("is_archived"))
    sent = await stage.platform.post(HERE, "これは長い投稿です。" * 4000, conversation="")
    (shown,) = stage.slack.workspace.answers(GENERAL)
    assert sent == shown["ts"]


@pytest.mark.parametrize("code", ["not_in_channel", "is_archived", "channel_not_found"])
async def test_a_post_that_can_never_be_shown_is_refused(stage: SlackStage, code: str) -> None:
    stage.slack.fail("chat.postMessage", Fault(code))
    with pytest.raises(PlatformRefused):
        await stage.platform.post(HERE, "wake up", conversation="")

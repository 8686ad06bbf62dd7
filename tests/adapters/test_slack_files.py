"""Attachments are downloaded from Slack only, and answers can be taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adapters.slack_calls import SlackRefused
from adapters.slack_manifest import BOT_EVENTS, BOT_SCOPES, manifest
from bot.errors import PlatformRefused, PlatformUnavailable
from bot.messages import Attachment, Reply
from tests.adapters.slack_stage import GENERAL, SlackStage, slack_stage
from tests.contracts.platform import LONG, Delivery, stream
from tests.e2e.slack_workspace import BOT_USER

DATA = "議事録".encode() * 1000


@pytest.fixture
async def stage() -> AsyncIterator[SlackStage]:
    async with slack_stage() as stage:
        stage.slack.workspace.uploads["F1"] = DATA
        yield stage


def attachment(url: str) -> Attachment:
    return Attachment("F1", "議事録.txt", "text/plain", len(DATA), url)


async def test_attachment_is_downloaded_with_the_token(stage: SlackStage) -> None:
    file = attachment(f"{stage.slack.origin}/files/F1")
    assert await stage.platform.download(file, len(DATA)) == DATA


async def test_file_of_another_organisation_is_asked_about(stage: SlackStage) -> None:
    url = f"{stage.slack.origin}/files/F1"
    stage.slack.workspace.foreign_files["F1"] = {
        "id": "F1",
        "name": "議事録.txt",
        "mimetype": "text/plain",
        "size": len(DATA),
        "url_private_download": url,
    }
    files = [{"id": name, "file_access": "check_file_info"} for name in ("F1", "F404")]
    message = await stage.say(f"<@{BOT_USER}> これを追加して", subtype="file_share", files=files)
    assert message.attachments == (attachment(url),)  # the other one may not be seen
    assert await stage.platform.download(message.attachments[0], len(DATA)) == DATA


async def test_attachment_that_is_too_long_or_gone_is_refused(stage: SlackStage) -> None:
    with pytest.raises(PlatformRefused, match="too_large"):
        await stage.platform.download(attachment(f"{stage.slack.origin}/files/F1"), 100)
    with pytest.raises(PlatformRefused, match="not_readable"):
        await stage.platform.download(attachment(f"{stage.slack.origin}/files/F2"), 100)


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/F1",
        "http://files.slack.com/F1",
        "https://files.slack.com.evil.example/F1",
        "https://evilslack.com/F1",
        "file:///etc/passwd",
        "",
    ],
)
async def test_token_goes_to_nobody_but_slack(stage: SlackStage, url: str) -> None:
    with pytest.raises(SlackRefused, match="not_hosted"):
        await stage.platform.download(attachment(url), 100)


async def test_download_that_gets_no_answer_may_be_tried_again(stage: SlackStage) -> None:
    file = attachment(f"{stage.slack.origin}/files/F1")
    await stage.slack.stop()
    with pytest.raises(PlatformUnavailable):
        await stage.platform.download(file, 100)


@pytest.mark.parametrize("text", ["短い答え", LONG + LONG])
async def test_answer_is_taken_back_with_all_its_parts_and_no_other(
    stage: SlackStage, text: str
) -> None:
    kept = await stage.mention("first")
    await Delivery(stage, kept)(stream(Reply("kept")))
    message = await stage.mention("second")
    sent = await Delivery(stage, message)(stream(Reply(text)))
    assert sent
    count = len(stage.shown()) - 1
    assert await stage.platform.retract(message.audience, sent) == count
    assert stage.shown() == ["kept"]
    with pytest.raises(PlatformRefused):
        await stage.platform.retract(message.audience, sent)
    with pytest.raises(PlatformRefused):
        await stage.platform.retract(message.audience, message.message_id)
    assert message.message_id in stage.slack.workspace.messages[GENERAL]


def test_manifest_for_socket_mode() -> None:
    made = manifest()
    assert made["settings"]["socket_mode_enabled"]
    assert made["settings"]["interactivity"] == {"is_enabled": True}
    assert made["oauth_config"]["scopes"]["bot"] == sorted(BOT_SCOPES)
    assert made["settings"]["event_subscriptions"]["bot_events"] == sorted(BOT_EVENTS)
    (command,) = made["features"]["slash_commands"]
    assert command["command"] == "/memory"
    assert command["should_escape"]
    assert [s["name"] for s in made["features"]["shortcuts"]] == ["Remember this", "Forget this"]


def test_manifest_for_http_names_the_address_everywhere() -> None:
    url = "https://bot.example/slack/events"
    made = manifest(request_url=url)
    assert not made["settings"]["socket_mode_enabled"]
    assert made["settings"]["event_subscriptions"]["request_url"] == url
    assert made["settings"]["interactivity"]["request_url"] == url
    assert made["features"]["slash_commands"][0]["url"] == url


@pytest.mark.parametrize(
    ("event", "scope"),
    [
        ("app_mention", "app_mentions:read"),
        ("message.channels", "channels:history"),
        ("message.groups", "groups:history"),
        ("message.im", "im:history"),
        ("message.mpim", "mpim:history"),
        ("reaction_added", "reactions:read"),
        ("user_change", "users:read"),
        ("file_deleted", "files:read"),
        ("channel_shared", "channels:read"),
    ],
)
def test_manifest_has_the_scope_for_each_event(event: str, scope: str) -> None:
    assert event in BOT_EVENTS
    assert scope in BOT_SCOPES

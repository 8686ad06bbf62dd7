"""Event bodies from the public tests of Slack's own SDKs, replayed when the folder is there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from adapters.slack_text import Names, read_text
from tests.adapters.echo_core import EchoCore
from tests.adapters.slack_stage import ALICE, slack_stage, workspace
from tests.e2e.slack_workspace import BOT_USER, Json, Workspace

FOLDER = Path(__file__).parents[2] / "../shared/eval/payloads"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="no payloads to replay here")


def rows(name: str) -> list[Json]:
    path = FOLDER / name
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def bodies() -> Iterator[Json]:
    """Each payload, addressed to the bot of the wire double, under an id of its own."""
    for number, row in enumerate(rows("slack_events.jsonl")):
        if "payload_raw" in row:
            body: Json = dict(parse_qsl(row["payload_raw"]))
        elif "type" in row.get("payload", {}):
            body = row["payload"]
        else:
            continue
        own = [(grant or {}).get("user_id") for grant in body.get("authorizations") or []]
        own += body.get("authed_users") or []
        text = json.dumps(body)
        if own and own[0] and (body.get("event") or {}).get("user") != own[0]:
            text = text.replace(f'"{own[0]}"', f'"{BOT_USER}"').replace(
                f"<@{own[0]}>", f"<@{BOT_USER}>"
            )
        text = text.replace("https://hooks.slack.com", "http://127.0.0.1:9")
        yield json.loads(text) | ({"event_id": f"Ev{number}"} if "event" in body else {})


def populated(bodies_to_come: list[Json]) -> Workspace:
    """A workspace in which everybody and every place that they name exists."""
    made = workspace()
    for word in set(re.findall(r'"([UWCGD][A-Z0-9]{2,})"', json.dumps(bodies_to_come))):
        if word[0] in "UW" and word not in made.users:
            made.add_user(word, word.lower())
        elif word[0] in "CG" and word not in made.channels:
            made.add_channel(word, "private" if word[0] == "G" else "public")
        elif word[0] == "D" and word not in made.channels:
            made.add_channel(word, "im", ALICE)
    return made


def is_for_the_bot(body: Json) -> bool:
    """A person said it, in a DM or with a mention; the folder's README asks one answer each."""
    event = body.get("event") or {}
    if event.get("bot_id") or event.get("subtype") not in (None, "file_share", "thread_broadcast"):
        return False
    named = f"<@{BOT_USER}>" in (event.get("text") or "")
    return event.get("type") == "app_mention" or (
        event.get("type") == "message" and (named or event.get("channel_type") == "im")
    )


async def test_every_human_message_to_the_bot_gets_one_answer_and_nothing_else_any() -> None:
    to_come = list(bodies())
    assert to_come
    made = populated(to_come)
    for body in to_come:
        event = body.get("event") or {}
        for ts in (event.get("thread_ts"), event.get("ts")):
            if event.get("channel") in made.channels and ts:
                root = event.get("thread_ts") if ts != event.get("thread_ts") else None
                made.post(event["channel"], ts=ts, user="U111", text="x", thread_ts=root)
    wanted = {(b["event"]["channel"], b["event"]["ts"]) for b in to_come if is_for_the_bot(b)}
    assert wanted
    async with slack_stage(made, http=True) as stage:
        async with EchoCore(stage.platform, stage.inbox) as core:
            for _ in range(2):
                for body in to_come:
                    kind = "events_api" if "event" in body else "interactive"
                    await stage.slack.send_payload(
                        "slash_commands" if "command" in body else kind, body
                    )
            await stage.settled()
            await stage.slack.until(lambda: core.is_idle)
        answered = [
            (channel, message["thread_ts"])
            for channel in made.channels
            for message in made.answers(channel)
            if "thread_ts" in message  # without one it answers the slash command, in the DM
        ]
    assert sorted(set(answered)) == sorted(answered)
    roots = {(channel, made.messages[channel][ts].get("thread_ts") or ts) for channel, ts in wanted}
    assert {answer for answer in answered if answer in roots} == roots
    assert len(answered) == len(roots)


@pytest.mark.parametrize("row", rows("slack_export_messages.jsonl"), ids=lambda row: row["kind"])
def test_exported_message_reads_as_a_person_sees_it(row: dict[str, Any]) -> None:
    found = read_text(row["payload"], Names(), BOT_USER)
    assert not re.search(r"<[@#!]|&(?:lt|gt|amp);|[CU]0[A-Z0-9]{8}", found.markdown)
    for link in re.findall(r"<(https?://[^|>]+)\|", row["payload"]["text"]):
        assert found.markdown.count(link) == row["payload"]["text"].count(f"<{link}|")
    for attachment in row["payload"].get("attachments") or []:
        assert attachment["text"] not in found.markdown
        assert attachment["text"] in found.quoted

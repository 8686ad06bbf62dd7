"""Turns commands, buttons, modals and message shortcuts into `IncomingMessage`s."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adapters.slack_audiences import SlackDirectory
from adapters.slack_envelopes import SlackEnvelopes
from adapters.slack_events import (
    HOME,
    SEARCH,
    Redact,
    SlackIdentity,
    chosen_ids,
    metadata_of,
)
from adapters.slack_text import read_text
from adapters.slack_threads import names_in
from bot.messages import EventKind, InboxEvent, IncomingMessage

Json = dict[str, Any]


class SlackInteractions:
    """Parses what people do with the bot other than talking."""

    def __init__(
        self,
        me: SlackIdentity,
        directory: SlackDirectory,
        envelopes: SlackEnvelopes,
        *,
        redact: Redact,
    ) -> None:
        self._me = me
        self._directory = directory
        self._envelopes = envelopes
        self._redact = redact

    async def parse(self, inbox: InboxEvent) -> IncomingMessage | None:
        """None when the person may not talk to the bot any more."""
        payload = inbox.payload
        match payload.get("type"):
            case "block_actions":
                return await self._press(inbox, payload["actions"][0])
            case "view_submission":
                meta = metadata_of(payload)
                shortcut = "quoted_author" in meta
                kind = EventKind.COMMAND if shortcut else EventKind.ACTION
                found = await self._envelopes.private(inbox, kind, str(meta.get("command")))
                return found and _with_metadata(found, meta)
            case "message_action":
                meta = await self._chosen_message(payload)
                found = await self._envelopes.private(inbox, EventKind.COMMAND, "remember")
                return found and _with_metadata(found, meta)
        names = await names_in([{"text": payload.get("text")}], self._directory, self._me)
        text = read_text({"text": payload.get("text")}, names, "").markdown
        found = await self._envelopes.private(inbox, EventKind.COMMAND, text)
        references = await self._envelopes.references({"text": payload.get("text")}, names)
        return found and replace(found, references=references)

    async def _press(self, inbox: InboxEvent, action: Json) -> IncomingMessage | None:
        action_id, value = str(action.get("action_id")), str(action.get("value") or "")
        kind = EventKind.HOME if action_id.startswith(HOME) else EventKind.ACTION
        text = f"search {value}" if action_id.startswith(SEARCH) else value
        found = await self._envelopes.private(inbox, kind, text)
        if found is None:
            return None
        message = inbox.payload.get("message") or {}
        container = inbox.payload.get("container") or {}
        return replace(
            found,
            reply_to=container.get("message_ts") or message.get("ts"),
            thread=message.get("thread_ts"),
        )

    async def _chosen_message(self, payload: Json) -> dict[str, str]:
        """The same, with what it says as `quoted`."""
        message = payload.get("message") or {}
        names = await names_in([message], self._directory, self._me)
        return chosen_ids(payload, self._me) | {
            "quoted": self._redact(read_text(message, names, self._me.user).markdown),
            "quoted_author_name": names.users.get(str(message.get("user") or ""), ""),
        }


def _with_metadata(found: IncomingMessage, meta: Json) -> IncomingMessage:
    own = ("command", "user", "channel", "reply_to", "quoted", "thread")
    return replace(
        found,
        reply_to=meta.get("reply_to") or None,
        thread=meta.get("thread") or None,
        quoted=str(meta.get("quoted") or ""),
        arguments=found.arguments
        | {name: str(value) for name, value in meta.items() if name not in own and value},
    )

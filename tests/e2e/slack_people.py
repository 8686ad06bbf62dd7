"""What people do in the modelled workspace, and the events and requests that Slack makes of it."""

from __future__ import annotations

import json
import mimetypes
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.e2e.slack_workspace import APP_ID, BOT_USER, TEAM, Json, Workspace


@dataclass
class Envelope:
    """Something that was sent to the app, and when it was acknowledged."""

    id: str
    kind: str
    payload: Json
    sent: float
    attempts: int = 1
    acknowledged: float | None = None
    response: Json = field(default_factory=dict)


class SlackPeople(ABC):
    """Acts in a workspace. Each verb returns when its events have been sent."""

    origin: str
    """Address of the double."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    @abstractmethod
    async def emit(self, *events: Json) -> None:
        """Deliver events in this order, each under an event id of its own."""

    @abstractmethod
    async def send_payload(self, kind: str, payload: Json) -> Envelope:
        """Deliver one body: `kind` is the envelope type of Socket Mode."""

    async def say(
        self, user: str, channel: str, text: str, *, twins: str = "mention first", **fields: Any
    ) -> str:
        """Post as a person, with the events that Slack sends for it. Returns the ts.

        `twins` tells the order of `app_mention` and `message`: "mention first", "message
        first" or "no mention".
        """
        message = self.workspace.post(channel, user=user, text=text, team=TEAM, **fields)
        place = self.workspace.channels[channel]
        if BOT_USER not in place.members:
            return str(message["ts"])
        event = message | {"channel": channel, "event_ts": message["ts"]}
        as_message = event | {"channel_type": place.event_type}
        named = f"<@{BOT_USER}" in json.dumps([text, fields.get("blocks")])
        mention = [event | {"type": "app_mention"}] if named and place.kind != "im" else []
        if twins == "message first":
            await self.emit(as_message, *mention)
        else:
            await self.emit(*(mention if twins == "mention first" else []), as_message)
        return str(message["ts"])

    async def share_file(
        self, user: str, channel: str, text: str, name: str, data: bytes, **fields: Any
    ) -> tuple[str, str]:
        """Post a file with a text. Returns the ts and the file's id."""
        file_id = f"F{self.workspace.next_id()}"
        self.workspace.uploads[file_id] = data
        url = f"{self.origin}/files/{file_id}"
        media_type = mimetypes.guess_type(name)[0]
        file = {
            "id": file_id,
            "name": name,
            "title": name,
            "mimetype": media_type or "application/octet-stream",
            "size": len(data),
            "mode": "hosted",
            "user": user,
            "url_private": url,
            "url_private_download": url,
        }
        shared: Json = {"subtype": "file_share", "files": [file]}
        return await self.say(user, channel, text, **shared, **fields), file_id

    async def delete_file(self, file_id: str) -> None:
        """Delete a file: the messages that it came with stay, without it."""
        del self.workspace.uploads[file_id]
        for channel, messages in self.workspace.messages.items():
            for message in messages.values():
                if file_id in [file["id"] for file in message.get("files") or []]:
                    previous = dict(message)
                    message["files"] = [{"id": file_id, "mode": "tombstone"}]
                    await self._emit_hidden(
                        "message_changed", channel, message=dict(message), previous_message=previous
                    )
        await self.emit({"type": "file_deleted", "file_id": file_id, "event_ts": self._now()})

    async def edit(self, channel: str, ts: str, text: str, *, unfurl: bool = False) -> None:
        """Change a message; an `unfurl` leaves text and edit stamp as they are."""
        message = self.workspace.messages[channel][ts]
        previous = dict(message)
        if unfurl:
            message["attachments"] = [{"from_url": "https://example.com", "text": text}]
        else:
            message |= {"text": text, "edited": {"user": message["user"], "ts": self._now()}}
            message.pop("blocks", None)
        await self._emit_hidden(
            "message_changed", channel, message=dict(message), previous_message=previous
        )

    async def delete(self, channel: str, ts: str) -> None:
        previous = self.workspace.messages[channel].pop(ts)
        await self._emit_hidden(
            "message_deleted", channel, deleted_ts=ts, previous_message=previous
        )

    async def _emit_hidden(self, subtype: str, channel: str, **fields: Any) -> None:
        place, now = self.workspace.channels[channel], self._now()
        event = {"type": "message", "subtype": subtype, "hidden": True, "ts": now}
        await self.emit(
            event | {"channel": channel, "channel_type": place.event_type, "event_ts": now} | fields
        )

    async def join(self, user: str, channel: str) -> None:
        self.workspace.channels[channel].members.add(user)
        await self._emit_membership("member_joined_channel", user, channel)

    async def leave(self, user: str, channel: str) -> None:
        self.workspace.channels[channel].members.discard(user)
        await self._emit_membership("member_left_channel", user, channel)

    async def _emit_membership(self, kind: str, user: str, channel: str) -> None:
        await self.emit(
            {"type": kind, "user": user, "channel": channel, "team": TEAM, "event_ts": self._now()}
        )

    async def convert_to_private(self, channel: str) -> None:
        await self._convert(channel, "private")

    async def convert_to_public(self, channel: str) -> None:
        await self._convert(channel, "public")

    async def _convert(self, channel: str, kind: Literal["private", "public"]) -> None:
        place = self.workspace.channels[channel]
        place.kind = kind
        event = {"type": "message", "subtype": f"channel_convert_to_{kind}", "user": "UADMIN"}
        await self.emit(
            event | {"channel": channel, "ts": self._now(), "channel_type": place.event_type}
        )

    async def share(self, channel: str, *, shared: bool = True) -> None:
        self.workspace.channels[channel].ext_shared = shared
        kind = "channel_shared" if shared else "channel_unshared"
        await self.emit({"type": kind, "channel": channel, "event_ts": self._now()})

    async def change_user(self, user: str, **features: Any) -> None:
        """Such as `deleted=True` for a deactivation, or `restricted=True` for a new guest."""
        person = self.workspace.users[user]
        for name, value in features.items():
            setattr(person, name, value)
        await self.emit({"type": "user_change", "user": person.to_api(), "event_ts": self._now()})

    async def react(self, user: str, channel: str, ts: str, reaction: str) -> None:
        owner = self.workspace.messages[channel][ts].get("user")
        item = {"type": "message", "channel": channel, "ts": ts}
        event = {"type": "reaction_added", "user": user, "reaction": reaction, "item": item}
        await self.emit(event | {"item_user": owner, "event_ts": self._now()})

    async def open_home(self, user: str, tab: str = "home") -> None:
        channel = self.workspace.open_dm(user).id
        event = {"type": "app_home_opened", "user": user, "channel": channel, "tab": tab}
        await self.emit(event | {"event_ts": self._now()})

    async def command(self, user: str, channel: str, text: str) -> Envelope:
        """`/memory TEXT` typed by a person."""
        place = self.workspace.channels[channel]
        return await self.send_payload(
            "slash_commands",
            {
                "team_id": TEAM,
                "team_domain": "oboete",
                "channel_id": channel,
                "channel_name": place.name,
                "user_id": user,
                "user_name": self.workspace.users[user].name.lower(),
                "command": "/memory",
                "text": text,
                "api_app_id": APP_ID,
                "is_enterprise_install": "false",
                "response_url": f"{self.origin}/respond/{self.workspace.next_id()}",
                "trigger_id": self._trigger(),
            },
        )

    async def click(
        self,
        user: str,
        action: Json,
        *,
        channel: str | None = None,
        message: Json | None = None,
        view: Json | None = None,
    ) -> Envelope:
        """Press a button (an element of a block) in a message or a view."""
        container: Json = {"type": "view" if view else "message"}
        if message:
            container |= {"message_ts": message["ts"], "channel_id": channel}
        pressed = {"type": action["type"], "action_id": action["action_id"], "block_id": "b"}
        if "value" in action:
            pressed["value"] = action["value"]
        return await self._interactive(
            user,
            type="block_actions",
            container=container,
            actions=[pressed | {"action_ts": self._now()}],
            channel={"id": channel, "name": "x"} if channel else None,
            message=message,
            view=view,
            response_url=f"{self.origin}/respond/{self.workspace.next_id()}" if message else None,
        )

    async def shortcut(self, user: str, callback: str, channel: str, ts: str) -> Envelope:
        """Choose a message shortcut on a message."""
        return await self._interactive(
            user,
            type="message_action",
            callback_id=callback,
            channel={"id": channel, "name": self.workspace.channels[channel].name},
            message=self.workspace.messages[channel][ts],
            message_ts=ts,
            response_url=f"{self.origin}/respond/{self.workspace.next_id()}",
        )

    async def submit(self, user: str, view: Json, values: Json | None = None) -> Envelope:
        """Submit a modal."""
        state = {"state": {"values": values or {}}}
        return await self._interactive(user, type="view_submission", view=view | state)

    async def _interactive(self, user: str, **fields: Any) -> Envelope:
        payload = {
            "user": {"id": user, "team_id": TEAM, "username": user.lower()},
            "team": {"id": TEAM, "domain": "oboete"},
            "api_app_id": APP_ID,
            "trigger_id": self._trigger(),
        } | {key: value for key, value in fields.items() if value is not None}
        return await self.send_payload("interactive", payload)

    def _trigger(self) -> str:
        return f"{self.workspace.next_id()}.{TEAM}.trigger"

    def _now(self) -> str:
        return self.workspace.next_ts()

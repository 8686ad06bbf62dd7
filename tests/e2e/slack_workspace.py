"""A small model of a Slack workspace: who is in it, what was said, and who can read it."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from typing import Any, Literal

Json = dict[str, Any]
ChannelKind = Literal["public", "private", "im", "mpim"]

TEAM = "T1"
BOT_USER = "UBOT"
BOT_ID = "BBOT"
APP_ID = "A1"


class ApiError(Exception):
    """A Web API method answers `ok: false`; the message is Slack's error code."""

    def __init__(self, code: str, **details: object) -> None:
        super().__init__(code)
        self.code = code
        self.details = details


@dataclass
class User:
    """Somebody; `restricted` is a guest, `stranger` somebody of another organisation."""

    id: str
    name: str
    tz: str = "Asia/Tokyo"
    locale: str = "en-US"
    restricted: bool = False
    stranger: bool = False
    bot: bool = False
    admin: bool = False
    deleted: bool = False
    team: str = TEAM

    def to_api(self) -> Json:
        """As users.info shows it; somebody of another organisation has fewer fields."""
        shown: Json = {
            "id": self.id,
            "team_id": self.team,
            "name": self.name.lower(),
            "deleted": self.deleted,
            "is_bot": self.bot,
            "profile": {"display_name": self.name, "real_name": self.name},
        }
        if self.stranger:
            return shown | {"is_stranger": True}
        return shown | {
            "tz": self.tz,
            "locale": self.locale,
            "is_admin": self.admin,
            "is_owner": False,
            "is_restricted": self.restricted,
            "is_ultra_restricted": False,
        }


@dataclass
class Channel:
    """A conversation and who is in it."""

    id: str
    name: str
    kind: ChannelKind
    members: set[str]
    ext_shared: bool = False

    def to_api(self) -> Json:
        shown: Json = {
            "id": self.id,
            "is_channel": self.kind in ("public", "private"),
            "is_group": self.kind == "private",
            "is_im": self.kind == "im",
            "is_mpim": self.kind == "mpim",
            "is_private": self.kind != "public",
            "is_archived": False,
            "is_ext_shared": self.ext_shared,
            "is_shared": self.ext_shared,
            "is_org_shared": False,
            "is_pending_ext_shared": False,
            "is_member": BOT_USER in self.members,
            "context_team_id": TEAM,
        }
        if self.kind == "im":
            return shown | {"user": next(iter(self.members - {BOT_USER}))}
        return shown | {"name": self.name}

    @property
    def event_type(self) -> str:
        """`channel_type` of its message events."""
        return {"public": "channel", "private": "group", "im": "im", "mpim": "mpim"}[self.kind]


@dataclass
class Workspace:
    """Everything a method or an event refers to. Not safe for threads."""

    users: dict[str, User] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    messages: dict[str, dict[str, Json]] = field(default_factory=dict)
    """By channel and ts, in the order in which they were sent."""
    streaming: set[str] = field(default_factory=set)
    """Timestamps of messages whose stream is open."""
    homes: dict[str, Json] = field(default_factory=dict)
    modals: list[Json] = field(default_factory=list)
    ephemeral: list[Json] = field(default_factory=list)
    statuses: list[Json] = field(default_factory=list)
    prompts: list[Json] = field(default_factory=list)
    uploads: dict[str, bytes] = field(default_factory=dict)
    shared_files: list[Json] = field(default_factory=list)
    foreign_files: dict[str, Json] = field(default_factory=dict)
    """Files of other organisations: events tell their ids, and files.info the rest."""

    def __post_init__(self) -> None:
        self._counter = itertools.count(1)
        self._start = int(time.time())
        self.add_user(BOT_USER, "Oboete", bot=True)

    def next_id(self) -> int:
        return next(self._counter)

    def next_ts(self, ago: float = 0.0) -> str:
        """A fresh timestamp, `ago` seconds in the past."""
        return f"{int(time.time() - ago)}.{self.next_id():06d}"

    def add_user(self, user_id: str, name: str, **features: Any) -> User:
        user = self.users[user_id] = User(user_id, name, **features)
        return user

    def add_channel(
        self, channel_id: str, kind: ChannelKind, *members: str, ext_shared: bool = False
    ) -> Channel:
        """A channel which the bot is in, unless it is taken out again."""
        channel = Channel(
            channel_id, channel_id.lower(), kind, {BOT_USER, *members}, ext_shared=ext_shared
        )
        self.channels[channel_id] = channel
        self.messages.setdefault(channel_id, {})
        return channel

    def open_dm(self, user_id: str) -> Channel:
        if user_id not in self.users:
            raise ApiError("user_not_found")
        channel_id = f"D{user_id[1:]}"
        if channel_id not in self.channels:
            self.add_channel(channel_id, "im", user_id)
        return self.channels[channel_id]

    def visible(self, channel_id: str) -> Channel:
        """The channel, when the bot can see it: it is public, or the bot is in it."""
        channel = self.channels.get(channel_id)
        if channel is None or (channel.kind != "public" and BOT_USER not in channel.members):
            raise ApiError("channel_not_found")
        return channel

    def joined(self, channel_id: str) -> Channel:
        """The channel, when the bot is in it and so may write and read there."""
        channel = self.visible(channel_id)
        if BOT_USER not in channel.members:
            raise ApiError("not_in_channel")
        return channel

    def post(self, channel: str, ts: str | None = None, **fields: Any) -> Json:
        """Add a message and give it back as the API shows it."""
        message: Json = {"type": "message", "ts": ts or self.next_ts()}
        message |= {key: value for key, value in fields.items() if value is not None}
        self.messages[channel][message["ts"]] = message
        return message

    def own(self, channel: str, ts: str) -> Json:
        """A message of the bot itself."""
        message = self.messages.get(channel, {}).get(ts)
        if message is None:
            raise ApiError("message_not_found")
        if message.get("bot_id") != BOT_ID:
            raise ApiError("cant_update_message")
        return message

    def thread(self, channel: str, root: str) -> list[Json]:
        """The root and its replies, oldest first."""
        found = [
            message
            for ts, message in self.messages[channel].items()
            if ts == root or message.get("thread_ts") == root
        ]
        if not found:
            raise ApiError("thread_not_found")
        return sorted(found, key=lambda message: message["ts"])

    def answers(self, channel: str, root: str | None = None) -> list[Json]:
        """What the bot posted in a channel, or in one thread of it, oldest first."""
        return [
            message
            for message in self.messages[channel].values()
            if message.get("bot_id") == BOT_ID and root in (None, message.get("thread_ts"))
        ]


def shown_text(message: Json) -> str:
    """What a reader sees of a posted message: its Markdown blocks, or else its text."""
    blocks = message.get("blocks") or []
    parts = [block["text"] for block in blocks if block["type"] == "markdown"]
    return "\n".join(parts) if parts else str(message.get("text", ""))

"""What Slack sends, seen before anything is looked up: who it is from and whether it is wanted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memory.types import Audience, Person

Json = dict[str, Any]
Redact = Callable[[str], str]
Wants = Callable[[Json, str], bool]

PLATFORM = "slack"

CONFIRM = "oboete_confirm"
"""Callback id of the modal that asks before a dangerous choice."""
PRESS = "oboete_press"
"""Action ids of plain choices begin with it."""
ASK = "oboete_ask"
"""Action ids of choices that are confirmed in a modal first begin with it."""
SEARCH = "oboete_search"
HOME = "oboete_home"
REMEMBER = "oboete_remember"
FORGET = "oboete_forget"
"""Callback ids of the two message shortcuts."""

SLACKBOT = "USLACKBOT"
GAP = "oboete_gap"
"""Key in a body that was read again after downtime; its value is whether to answer it."""
SPOKEN = frozenset({None, "", "file_share", "thread_broadcast", "me_message"})
"""Subtypes of messages in which a person says something."""
REMOVED = "tombstone"
"""Subtype of a deleted root whose replies remain."""

_TEXT_KEYS = frozenset({"text", "fallback", "pretext", "title", "value", "footer", "plain_text"})


@dataclass(frozen=True, slots=True)
class SlackIdentity:
    """Who the bot is, as auth.test tells."""

    tenant: str
    user: str
    bot: str
    name: str
    url: str
    """Of the workspace, with a slash at the end."""

    def wrote(self, message: Json) -> bool:
        return message.get("user") == self.user or (
            bool(self.bot) and message.get("bot_id") == self.bot
        )

    def permalink(self, channel: str, ts: str, root: str) -> str:
        """Link to a message; `root` is the root of its thread, or itself."""
        link = f"{self.url}archives/{channel}/p{ts.replace('.', '')}"
        return link if root == ts else f"{link}?thread_ts={root}&cid={channel}"


@dataclass(frozen=True, slots=True)
class SlackRules:
    """Where and with whom the bot talks. Empty `allowed_…` means everywhere and everybody."""

    allowed_channels: frozenset[str] = frozenset()
    denied_channels: frozenset[str] = frozenset()
    allowed_users: frozenset[str] = frozenset()
    denied_users: frozenset[str] = frozenset()

    def permit(self, channel: str, user: str) -> bool:
        """Direct messages are subject to the lists of users only."""
        direct = channel.startswith("D") or not channel
        if not direct and self.allowed_channels and channel not in self.allowed_channels:
            return False
        if self.allowed_users and user and user not in self.allowed_users:
            return False
        return channel not in self.denied_channels and user not in self.denied_users


def event_of(payload: Json) -> Json:
    """The event inside an Events API body; empty for any other body."""
    event = payload.get("event")
    return event if isinstance(event, dict) else {}


def channel_of(payload: Json) -> str:
    """Id of the channel that a body is about, or empty."""
    holder = event_of(payload) or payload
    channel = holder.get("channel") or payload.get("channel_id")
    if isinstance(channel, dict):
        return str(channel.get("id") or "")
    item = holder.get("item")
    if not channel and isinstance(item, dict):
        channel = item.get("channel")
    return str(channel or metadata_of(payload).get("channel") or "")


def user_of_payload(payload: Json) -> str:
    """Id of the person who did it, or empty."""
    event = event_of(payload)
    holder = event or payload
    user = holder.get("user") or payload.get("user_id") or (event.get("message") or {}).get("user")
    if not user:
        user = (event.get("previous_message") or {}).get("user")
    return str((user.get("id") if isinstance(user, dict) else user) or "")


def metadata_of(payload: Json) -> Json:
    """What the bot wrote into the modal that was submitted."""
    view = payload.get("view")
    if not isinstance(view, dict) or payload.get("type") != "view_submission":
        return {}
    try:
        found = json.loads(view.get("private_metadata") or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def chosen_ids(payload: Json, me: SlackIdentity) -> dict[str, str]:
    """Which message a shortcut was used on, as `IncomingMessage.arguments` and more."""
    message, channel = payload.get("message") or {}, channel_of(payload)
    user, ts = str(message.get("user") or ""), str(message.get("ts"))
    return {
        "channel": channel,
        "reply_to": ts,
        "quoted_author": str(Person(PLATFORM, me.tenant, user)) if user else "",
        "quoted_audience": str(Audience(PLATFORM, me.tenant, channel)),
        "quoted_permalink": me.permalink(channel, ts, str(message.get("thread_ts") or ts)),
        "quoted_sent_at": moment(ts).isoformat(),
    }


def moment(ts: str) -> datetime:
    """The time in a Slack timestamp (UTC)."""
    return datetime.fromtimestamp(float(ts), UTC)


def delivery_of(payload: Json) -> str:
    """The same for each delivery of one happening, and for nothing else."""
    stamp = payload.get("event_id") or payload.get("trigger_id")
    if stamp:
        return str(stamp)
    return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()


def lane_of(payload: Json) -> str:
    """Key of the conversation: a DM is one, elsewhere each thread is; commands are by person."""
    channel, event = channel_of(payload), event_of(payload)
    if not event.get("type") or not channel:
        return channel if channel.startswith("D") else f"user:{user_of_payload(payload)}"
    if channel.startswith("D"):
        return channel
    deleted = {"ts": event.get("deleted_ts")}
    found = (event.get("message"), event.get("previous_message"), event.get("item"), deleted, event)
    for message in found:
        if isinstance(message, dict) and (stamp := message.get("thread_ts") or message.get("ts")):
            return f"{channel}/{stamp}"
    return channel


def is_from_bot(message: Json, me: SlackIdentity) -> bool:
    return bool(
        message.get("bot_id")
        or message.get("bot_profile")
        or message.get("subtype") == "bot_message"
        or message.get("user") in (me.user, SLACKBOT)
    )


def is_wanted(payload: Json, me: SlackIdentity, rules: SlackRules, wants: Wants) -> bool:
    """False for what is acknowledged and dropped without ever being written to disk.

    `wants(message, channel)` tells whether a message is wanted that is not addressed to the bot.
    """
    if not rules.permit(channel_of(payload), user_of_payload(payload)):
        return False
    event = event_of(payload)
    if not event:
        return bool(user_of_payload(payload)) and _is_wanted_interaction(payload)
    match event.get("type"):
        case "app_mention":
            return _is_whole(event) and not is_from_bot(event, me)
        case "message":
            return _is_wanted_message(event, me, wants)
        case "reaction_added" | "reaction_removed":
            item = event.get("item") or {}
            return item.get("type") == "message" and event.get("item_user") == me.user
        case "app_home_opened":
            return event.get("tab") == "home"
        case "member_joined_channel":
            return event.get("user") == me.user and bool(event.get("channel"))
        case "user_change":
            return isinstance(user := event.get("user"), dict) and bool(user.get("deleted"))
        case "tokens_revoked":
            return bool((event.get("tokens") or {}).get("bot"))
        case "file_deleted" | "app_uninstalled":
            return True
    return False


def _is_wanted_message(event: Json, me: SlackIdentity, wants: Wants) -> bool:
    subtype = event.get("subtype")
    if not event.get("channel"):
        return False
    if subtype == "message_deleted":
        previous = event.get("previous_message") or {}
        if not event.get("deleted_ts"):
            return False
        return me.wrote(previous) or not is_from_bot(previous, me)
    if subtype == "message_changed":
        message, previous = event.get("message") or {}, event.get("previous_message") or {}
        if not message.get("ts") or (
            is_from_bot(message, me) and message.get("subtype") != REMOVED
        ):
            return False
        # Link previews and new replies change a message without changing what was said.
        return not previous or message.get("text") != previous.get("text")
    if subtype not in SPOKEN or is_from_bot(event, me) or not _is_whole(event):
        return False
    if event.get("channel_type") == "im" or str(event.get("channel")).startswith("D"):
        return True
    in_thread = event.get("thread_ts") not in (None, event.get("ts"))
    return in_thread or names_bot(event, me) or wants(event, str(event.get("channel")))


def _is_whole(message: Json) -> bool:
    return bool(message.get("user") and message.get("channel") and message.get("ts"))


def names_bot(message: Json, me: SlackIdentity) -> bool:
    """True when the message names the bot anywhere, also in code or a quote."""
    where = json.dumps([message.get("text"), message.get("blocks")])
    return f"<@{me.user}" in where or f'"user_id": "{me.user}"' in where


def _is_wanted_interaction(payload: Json) -> bool:
    match payload.get("type"):
        case "block_actions":
            ids = [str(action.get("action_id")) for action in payload.get("actions") or []]
            return bool(ids) and ids[0].startswith((PRESS, SEARCH, HOME))
        case "view_submission":
            asked = metadata_of(payload).get("user")
            view = payload.get("view") or {}
            return view.get("callback_id") == CONFIRM and asked == user_of_payload(payload)
        case "message_action":
            return payload.get("callback_id") == REMEMBER
    return bool(payload.get("command"))


def stripped(payload: Json, redact: Redact) -> Json:
    """What goes to disk: secrets redacted, without tokens and without text nobody needs."""
    kept = {name: value for name, value in payload.items() if name != "token"}
    if isinstance(kept.get("event"), dict):
        event = dict(kept["event"])
        if isinstance(previous := event.get("previous_message"), dict):
            event["previous_message"] = _ids_only(previous)
        kept["event"] = event
    if payload.get("type") == "block_actions":
        kept["message"] = _ids_only(payload.get("message") or {})
        kept.pop("state", None)
        view = payload.get("view") or {}
        kept["view"] = {name: view[name] for name in ("type", "id") if name in view}
    return {name: _redacted(value, redact) for name, value in kept.items()}


def _ids_only(message: Json) -> Json:
    names = ("ts", "thread_ts", "user", "bot_id", "type")
    return {name: message[name] for name in names if name in message}


def _redacted(value: Any, redact: Redact, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _redacted(item, redact, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_redacted(item, redact, key) for item in value]
    return redact(value) if isinstance(value, str) and key in _TEXT_KEYS else value

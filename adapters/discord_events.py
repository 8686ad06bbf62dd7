"""Discord's events as they go into the inbox: names resolved, secrets redacted, plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import discord

from adapters.discord_audiences import DIRECT, is_public
from adapters.discord_state import Redact
from adapters.discord_text import Names, Resolved, mention_of, resolve, without_quotes
from bot.messages import Mention
from memory.types import Audience

_FROM_PEOPLE: Final = (discord.MessageType.default, discord.MessageType.reply)


@dataclass(frozen=True, slots=True)
class Heard:
    """One event, ready to be committed."""

    tenant: str
    delivery: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Self:
    """The bot as messages name it."""

    user_id: int
    redact: Redact

    def ids(self, guild: discord.Guild | None) -> frozenset[str]:
        """Its user and, in a guild, the role that Discord made for it."""
        role = guild.self_role if guild else None
        return frozenset(str(i) for i in (self.user_id, role and role.id) if i)

    def says(self, message: discord.Message) -> Resolved:
        """The text of a message with names for ids, secrets redacted."""
        names = _names(message, self.ids(message.guild))
        resolved = resolve(message.content, names)
        return Resolved(self.redact(resolved.text), resolved.references)


def stamp(moment: datetime) -> str:
    """UTC with microseconds, so that later stamps compare as greater texts."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moment(text: str) -> datetime:
    """Read what `stamp` or Discord wrote."""
    return datetime.fromisoformat(text).astimezone(UTC)


def tenant_of(guild_id: int | None) -> str:
    return str(guild_id) if guild_id else DIRECT


def is_from_person(message: discord.Message) -> bool:
    """False for bots (this one too), webhooks, and notices such as joins and pins."""
    return not message.author.bot and message.webhook_id is None and message.type in _FROM_PEOPLE


def mention_in(message: discord.Message, me: Self) -> Mention:
    """How the message names the bot; a reply to the bot is as good as naming it."""
    if replies_to(message) == me.user_id:
        return Mention.DIRECT
    return mention_of(message.content, me.ids(message.guild))


def replies_to(message: discord.Message) -> int | None:
    """Author of the message that this one replies to."""
    replied = message.reference and message.reference.resolved
    return replied.author.id if isinstance(replied, discord.Message) else None


def of_message(
    message: discord.Message, me: Self, place: Audience, *, addressed: bool, conversation: str
) -> Heard:
    """A new message."""
    body = _body("message", message, me, place, addressed, conversation)
    return Heard(tenant_of(guild_id_of(message)), f"message:{message.id}", body)


def of_edit(
    message: discord.Message, me: Self, place: Audience, *, addressed: bool, conversation: str
) -> Heard:
    """A message that its author changed: `edited_at` is set."""
    assert message.edited_at is not None
    revision = stamp(message.edited_at)
    body = _body("edit", message, me, place, addressed, conversation) | {"revision": revision}
    return Heard(tenant_of(guild_id_of(message)), f"edit:{message.id}:{revision}", body)


def of_delete(
    message_id: int, channel_id: int, place: Audience, now: datetime, *, conversation: str
) -> Heard:
    """A message of a place that is gone. Its channel may be gone too, so the place goes along."""
    guild_id, user_id = (None, place.name) if place.tenant == DIRECT else (int(place.tenant), None)
    body = {
        "type": "delete",
        "id": str(message_id),
        "channel": str(channel_id),
        "guild": str(guild_id) if guild_id else None,
        "place": place.name,
        "author": {"id": user_id or "0", "name": ""},
        "conversation": conversation,
        "sent_at": stamp(discord.utils.snowflake_time(message_id)),
        "revision": stamp(now),
    }
    return Heard(tenant_of(guild_id), f"delete:{message_id}", body)


def of_reaction(
    reaction: discord.RawReactionActionEvent,
    post: str,
    place: Audience,
    now: datetime,
    *,
    verdict: str,
    added: bool,
) -> Heard:
    """What somebody thinks of a `post` of the bot's, said or taken back by an emoji."""
    author = reaction.member.display_name if reaction.member else ""
    # Discord gives it no id; whether it comes twice does not matter
    id_ = f"reaction:{reaction.message_id}:{reaction.user_id}:{stamp(now)}"
    body = {
        "type": "reaction",
        "id": id_,
        "channel": str(reaction.channel_id),
        "guild": str(reaction.guild_id) if reaction.guild_id else None,
        "place": place.name,
        "author": {"id": str(reaction.user_id), "name": author},
        "text": verdict,
        "reply_to": post,
        "addressed": False,
        "arguments": {} if added else {"removed": "yes"},
        "conversation": str(reaction.channel_id),
        "sent_at": stamp(now),
    }
    return Heard(tenant_of(reaction.guild_id), id_, body)


def of_interaction(
    interaction: discord.Interaction[Any],
    me: Self,
    *,
    kind: str,
    text: str,
    arguments: Mapping[str, str],
    page: int = 0,
) -> Heard:
    """A command or a button. `kind` is `command` or `action`; `text` follows `/memory`."""
    channel = str(interaction.channel_id or interaction.user.id)
    guild = str(interaction.guild_id) if interaction.guild_id else None
    body = {
        "type": kind,
        # Marked, because a command is stored like a message and is none that could be deleted.
        "id": f"interaction:{interaction.id}",
        "token": interaction.token,
        "application": str(interaction.application_id),
        "channel": channel,
        "guild": guild,
        "conversation": f"user:{interaction.user.id}" if guild else channel,
        "in_group": bool(interaction.context.private_channel),
        "author": {"id": str(interaction.user.id), "name": interaction.user.display_name},
        "text": me.redact(text),
        "page": page,
        "arguments": {name: me.redact(value) for name, value in arguments.items()},
        "sent_at": stamp(interaction.created_at),
        "locale": str(interaction.locale),
    }
    return Heard(tenant_of(interaction.guild_id), f"interaction:{interaction.id}", body)


def quoted_by(interaction: discord.Interaction[Any], target: str, me: Self) -> dict[str, str]:
    """The message whose menu was used, as arguments `quoted` and `quoted_…`."""
    data: Mapping[str, Any] = interaction.data or {}
    message = data.get("resolved", {}).get("messages", {}).get(target)
    if message is None:
        return {}
    users = {str(u["id"]): str(u.get("global_name") or u["username"]) for u in message["mentions"]}
    bot = frozenset({str(me.user_id)})
    author = message["author"]
    text, _ = without_quotes(resolve(message["content"], Names(users, {}, _hidden, bot)).text)
    guild = str(interaction.guild_id) if interaction.guild_id else DIRECT
    address = f"{guild}/{message['channel_id']}/{target}"
    return {
        "quoted": me.redact(text),
        "quoted_id": target,
        "quoted_author": str(author["id"]),
        "quoted_author_name": str(author.get("global_name") or author["username"]),
        "quoted_is_bot": "yes" if author.get("bot") or message.get("webhook_id") else "",
        "quoted_permalink": f"https://discord.com/channels/{address}",
        "quoted_sent_at": stamp(moment(message["timestamp"])),
    }


def of_guild(what: str, guild_id: int, channel_id: int, now: datetime) -> Heard:
    """The bot `joined` a guild or was `uninstalled` from it."""
    body = {
        "type": "action",
        # with the time: a guild that comes or goes again within days is no twin of the first time
        "id": f"{what}:{guild_id}:{stamp(now)}",
        "channel": str(channel_id),
        "guild": str(guild_id),
        "author": {"id": "0", "name": ""},
        "text": "",
        "arguments": {"event": what},
        "conversation": str(channel_id),
        "sent_at": stamp(now),
    }
    return Heard(str(guild_id), f"{what}:{guild_id}:{stamp(now)}", body)


def _body(
    kind: str,
    message: discord.Message,
    me: Self,
    place: Audience,
    addressed: bool,
    conversation: str,
) -> dict[str, Any]:
    said = me.says(message)
    text, quoted = without_quotes(said.text)
    replied = message.reference and message.reference.resolved
    quotes = [quoted, *(me.redact(snapshot.content) for snapshot in message.message_snapshots)]
    if isinstance(replied, discord.Message):
        quotes.append(me.says(replied).text)
    guild_id = guild_id_of(message)
    return {
        "type": kind,
        "id": str(message.id),
        "channel": str(message.channel.id),
        "guild": str(guild_id) if guild_id else None,
        "place": place.name,
        "author": {"id": str(message.author.id), "name": message.author.display_name},
        "text": text,
        "quoted": "\n\n".join(filter(None, quotes)),
        "mention": mention_in(message, me).value,
        "addressed": addressed,
        "conversation": conversation,
        "references": [list(reference) for reference in said.references],
        "reply_to": str(message.reference.message_id)
        if message.reference and message.reference.message_id
        else None,
        "attachments": [
            {
                "id": str(attachment.id),
                "name": attachment.filename,
                "media_type": attachment.content_type or "application/octet-stream",
                "size": attachment.size,
                "url": attachment.url,
            }
            for attachment in message.attachments
        ],
        "sent_at": stamp(message.created_at),
        "revision": "",
    }


def _names(message: discord.Message, bot: frozenset[str]) -> Names:
    guild = message.guild

    def channel_name(channel_id: str) -> str | None:
        # A restricted channel's name is not for everybody who reads this message.
        channel = guild.get_channel(int(channel_id)) if guild else None
        if channel is None or isinstance(channel, discord.CategoryChannel):
            return None
        return channel.name if channel == message.channel or is_public(channel) else None

    return Names(
        users={str(user.id): user.display_name for user in message.mentions},
        roles={str(role.id): role.name for role in message.role_mentions},
        channel=channel_name,
        bot=bot,
    )


def _hidden(_channel: str) -> None:
    return None


def guild_id_of(message: discord.Message) -> int | None:
    if message.guild is not None:
        return message.guild.id
    return getattr(message.channel, "guild_id", None)

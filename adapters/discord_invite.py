"""How the bot is installed: the link with exactly the permissions it uses, and the intents."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlencode

import discord

PERMISSIONS: Final = discord.Permissions(
    view_channel=True,
    send_messages=True,
    send_messages_in_threads=True,
    create_public_threads=True,
    read_message_history=True,
    embed_links=True,
    attach_files=True,
)
"""Read, answer, open a thread for the answer, show sources, hand over an export."""

MESSAGE_CONTENT: Final = "Message Content Intent"
SERVER_MEMBERS: Final = "Server Members Intent"
_WITHOUT: Final = {
    MESSAGE_CONTENT: "follow-ups in a thread need a mention, and listening to a channel sees"
    " nothing (mentions and DMs carry their text anyway)",
    SERVER_MEMBERS: "who may read what is asked of Discord for every answer in a DM, which is"
    " slow, and voice-channel chats draw on themselves alone",
}


def application_id(token: str) -> int:
    """The application that a bot token belongs to. Raises ValueError when it is not a token."""
    head = token.strip().partition(".")[0]
    try:
        return int(base64.b64decode(head + "=" * (-len(head) % 4)).decode("ascii"))
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise ValueError("this is not a Discord bot token") from None


def invite_link(application: int) -> str:
    """Opens Discord's page for adding the bot to a server."""
    query = {
        "client_id": application,
        "permissions": PERMISSIONS.value,
        "scope": "bot applications.commands",
        "integration_type": 0,
    }
    return f"https://discord.com/oauth2/authorize?{urlencode(query)}"


def user_install_link(application: int) -> str:
    """Opens Discord's page for using the commands everywhere, also where the bot is not."""
    query = {"client_id": application, "scope": "applications.commands", "integration_type": 1}
    return f"https://discord.com/oauth2/authorize?{urlencode(query)}"


def missing_intents(flags: discord.ApplicationFlags) -> list[str]:
    """Those of the privileged intents that the application has not been given."""
    content = flags.gateway_message_content or flags.gateway_message_content_limited
    members = flags.gateway_guild_members or flags.gateway_guild_members_limited
    return [name for name, on in ((MESSAGE_CONTENT, content), (SERVER_MEMBERS, members)) if not on]


def explain_intents(missing: Iterable[str]) -> str:
    """What does not work without them and where they are switched on; empty for none."""
    return "\n".join(
        f"Discord: the {name} is off, so {_WITHOUT[name]}. Switch it on under Bot →"
        " Privileged Gateway Intents at https://discord.com/developers/applications."
        for name in missing
    )


def invite_text(application: int) -> str:
    """What `oboete discord invite` prints."""
    names = ", ".join(name.replace("_", " ").title() for name, on in PERMISSIONS if on)
    return "\n".join(
        (
            "Add Oboete to a server (you need Manage Server there):",
            f"  {invite_link(application)}",
            f"  Permissions: {names} ({PERMISSIONS.value}).",
            "",
            "Use its commands everywhere as a person (User Install must be on under Installation):",
            f"  {user_install_link(application)}",
            "",
            "Switch on under Bot → Privileged Gateway Intents at"
            f" https://discord.com/developers/applications/{application}/bot:",
            f"  {MESSAGE_CONTENT}: without it, {_WITHOUT[MESSAGE_CONTENT]}.",
            f"  {SERVER_MEMBERS}: without it, {_WITHOUT[SERVER_MEMBERS]}.",
        )
    )

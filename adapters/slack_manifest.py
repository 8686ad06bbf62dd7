"""The app manifest for `oboete slack manifest`.

Reference: https://docs.slack.dev/reference/app-manifest.
"""

from __future__ import annotations

from typing import Any

from adapters.slack_events import FORGET, REMEMBER

Json = dict[str, Any]

COMMAND = "/memory"

BOT_SCOPES = (
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "mpim:history",
    "mpim:read",
    "reactions:read",
    "reactions:write",
    "users:read",
)

BOT_EVENTS = (
    "app_home_opened",
    "app_mention",
    "app_uninstalled",
    "channel_archive",
    "channel_created",
    "channel_deleted",
    "channel_shared",
    "channel_unarchive",
    "channel_unshared",
    "file_deleted",
    "group_archive",
    "group_deleted",
    "member_joined_channel",
    "member_left_channel",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
    "reaction_added",
    "reaction_removed",
    "team_join",
    "tokens_revoked",
    "user_change",
)


def manifest(*, name: str = "Oboete", request_url: str | None = None) -> Json:
    """The manifest; with a public `request_url` for HTTP, else for Socket Mode."""
    url = {"url": request_url} if request_url else {}
    events: Json = {"bot_events": list(BOT_EVENTS)}
    interactivity: Json = {"is_enabled": True}
    if request_url:
        events["request_url"] = interactivity["request_url"] = request_url
    return {
        "display_information": {
            "name": name,
            "description": "Remembers what your team tells it",
            "background_color": "#1f3a5f",
        },
        "features": {
            "bot_user": {"display_name": name, "always_online": True},
            "app_home": {
                "home_tab_enabled": True,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "agent_view": {
                "agent_description": "Remembers what you tell it, and answers from it.",
                "suggested_prompts": [
                    {"title": "What can you do?", "message": "What can you do?"},
                    {"title": "何ができますか?", "message": "何ができますか?"},
                ],
            },
            "slash_commands": [
                {
                    "command": COMMAND,
                    "description": "List, search, remember, forget, export",
                    "usage_hint": "list | search WORDS | forget NUMBER | help",
                    "should_escape": True,
                    **url,
                }
            ],
            "shortcuts": [
                {
                    "name": "Remember this",
                    "type": "message",
                    "callback_id": REMEMBER,
                    "description": "Keep what this message says",
                },
                {
                    "name": "Forget this",
                    "type": "message",
                    "callback_id": FORGET,
                    "description": "Forget what was learned from this message",
                },
            ],
        },
        "oauth_config": {"scopes": {"bot": list(BOT_SCOPES)}},
        "settings": {
            "event_subscriptions": events,
            "interactivity": interactivity,
            "org_deploy_enabled": False,
            "socket_mode_enabled": request_url is None,
            "token_rotation_enabled": False,
        },
    }

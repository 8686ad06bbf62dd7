"""The REST half of the Discord double."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.e2e.discord_world import (
    BOT,
    HISTORY,
    TEXT,
    VIEW,
    Channel,
    Json,
    iso,
)

if TYPE_CHECKING:
    from tests.e2e.discord_double import DiscordDouble
    from tests.e2e.discord_people import Interaction

Answer = tuple[int, Any]
SEND = 1 << 11
SEND_IN_THREADS = 1 << 38
CREATE_THREADS = 1 << 35
CONTENT_LIMIT = 2000
EPHEMERAL = 64

NOT_FOUND: Answer = (404, {"message": "404: Not Found", "code": 0})
UNKNOWN_CHANNEL: Answer = (404, {"message": "Unknown Channel", "code": 10003})
UNKNOWN_MESSAGE: Answer = (404, {"message": "Unknown Message", "code": 10008})
UNKNOWN_MEMBER: Answer = (404, {"message": "Unknown Member", "code": 10007})
UNKNOWN_INTERACTION: Answer = (404, {"message": "Unknown interaction", "code": 10062})
NO_ACCESS: Answer = (403, {"message": "Missing Access", "code": 50001})
NO_PERMISSION: Answer = (403, {"message": "Missing Permissions", "code": 50013})
NO_DMS: Answer = (403, {"message": "Cannot send messages to this user", "code": 50007})
TOO_LONG: Answer = (
    400,
    {"message": "Invalid Form Body", "code": 50035, "errors": {"content": {"_errors": []}}},
)
THREAD_EXISTS: Answer = (400, {"message": "A thread has already been created", "code": 160004})


class Rest:
    """Answers requests from the double's world."""

    def __init__(self, double: DiscordDouble) -> None:
        self._double = double
        self._world = double.world
        self._nonces: dict[tuple[int, str], Json] = {}
        routes: list[tuple[str, str, Callable[..., Any]]] = [
            ("GET", r"users/@me", self._me),
            ("GET", r"oauth2/applications/@me", self._application),
            ("PUT", r"applications/(\d+)/commands", self._put_commands),
            ("POST", r"users/@me/channels", self._open_dm),
            ("GET", r"guilds/(\d+)/members/(\d+)", self._member),
            ("GET", r"channels/(\d+)", self._channel),
            ("POST", r"channels/(\d+)/typing", self._typing),
            ("GET", r"channels/(\d+)/messages", self._history),
            ("POST", r"channels/(\d+)/messages", self._send),
            ("GET", r"channels/(\d+)/messages/(\d+)", self._message),
            ("PATCH", r"channels/(\d+)/messages/(\d+)", self._edit),
            ("DELETE", r"channels/(\d+)/messages/(\d+)", self._delete),
            ("POST", r"channels/(\d+)/messages/(\d+)/threads", self._thread),
            ("GET", r"channels/(\d+)/thread-members/(\d+)", self._thread_member),
            ("POST", r"interactions/(\d+)/(\w+)/callback", self._respond),
            ("POST", r"webhooks/(\d+)/(\w+)", self._follow_up),
            ("PATCH", r"webhooks/(\d+)/(\w+)/messages/([@\w]+)", self._edit_answer),
            ("DELETE", r"webhooks/(\d+)/(\w+)/messages/([@\w]+)", self._delete_answer),
        ]
        self._routes = [(m, re.compile(rf"{p}\Z"), handle) for m, p, handle in routes]

    async def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> Answer:
        for wanted, pattern, handle in self._routes:
            match = pattern.match(path)
            if match and wanted == method:
                done: Answer = await handle(*match.groups(), query=query, body=body)
                return done
        return NOT_FOUND

    # --- the bot itself -------------------------------------------------------------------------

    async def _me(self, **_: Any) -> Answer:
        return 200, self._world.people[BOT].user()

    async def _application(self, **_: Any) -> Answer:
        return 200, {
            "id": str(BOT),
            "name": "oboete",
            "icon": None,
            "description": "",
            "bot_public": True,
            "bot_require_code_grant": False,
            "verify_key": "0" * 64,
            "flags": self._double.flags,
            "owner": self._world.people[BOT].user(),
            "team": None,
            "rpc_origins": [],
            "install_params": None,
        }

    async def _put_commands(self, _app: str, *, body: Any, **_: Any) -> Answer:
        self._double.commands = body
        return 200, [
            {**each, "id": str(900 + n), "application_id": str(BOT), "version": "1"}
            for n, each in enumerate(body)
        ]

    async def _open_dm(self, *, body: Any, **_: Any) -> Answer:
        person = self._world.people.get(int(body["recipient_id"]))
        if person is None:
            return 400, {"message": "Cannot send to this user", "code": 50033}
        return 200, self._world.channel_body(self._world.dm(person))

    # --- guilds and channels --------------------------------------------------------------------

    async def _member(self, guild: str, user: str, **_: Any) -> Answer:
        found = self._world.guilds.get(int(guild))
        if found is None:
            return NO_ACCESS
        if int(user) not in found.members:
            return UNKNOWN_MEMBER
        return 200, self._world.member_body(found, int(user))

    async def _channel(self, channel: str, **_: Any) -> Answer:
        found = self._world.channels.get(int(channel))
        if found is None:
            return UNKNOWN_CHANNEL
        if not self._world.may(found, BOT, VIEW):
            return NO_ACCESS
        return 200, self._world.channel_body(found)

    async def _thread_member(self, thread: str, user: str, **_: Any) -> Answer:
        found = self._world.channels.get(int(thread))
        if found is None:
            return UNKNOWN_CHANNEL
        if int(user) not in found.members:
            return UNKNOWN_MEMBER
        since = {"join_timestamp": "2026-01-01T00:00:00+00:00", "flags": 0}
        return 200, {"id": thread, "user_id": user, **since}

    async def _typing(self, channel: str, **_: Any) -> Answer:
        return (204, None) if int(channel) in self._world.channels else UNKNOWN_CHANNEL

    async def _thread(self, channel: str, message: str, *, body: Any, **_: Any) -> Answer:
        parent = self._world.channels.get(int(channel))
        if parent is None or int(message) not in parent.messages:
            return UNKNOWN_MESSAGE
        if parent.type != TEXT or not self._world.may(parent, BOT, CREATE_THREADS):
            return NO_PERMISSION
        if int(message) in self._world.channels:
            return THREAD_EXISTS
        thread = self._world.thread(parent, body["name"], under=int(message))
        await self._double.open_thread(thread)
        return 201, self._world.channel_body(thread)

    # --- messages -------------------------------------------------------------------------------

    async def _history(self, channel: str, *, query: dict[str, str], **_: Any) -> Answer:
        found = self._world.channels.get(int(channel))
        if found is None:
            return UNKNOWN_CHANNEL
        if not self._world.may(found, BOT, VIEW | HISTORY):
            return NO_ACCESS
        limit = int(query.get("limit", 50))
        ids = sorted(found.messages)
        if "after" in query:
            ids = [i for i in ids if i > int(query["after"])][:limit]
        elif "before" in query:
            ids = [i for i in ids if i < int(query["before"])]
        return 200, [found.messages[i] for i in reversed(ids[-limit:])]

    async def _message(self, channel: str, message: str, **_: Any) -> Answer:
        found = self._world.channels.get(int(channel))
        if found is None or int(message) not in found.messages:
            return UNKNOWN_MESSAGE
        return 200, found.messages[int(message)]

    async def _send(self, channel: str, *, body: Any, **_: Any) -> Answer:
        found = self._world.channels.get(int(channel))
        if found is None:
            return UNKNOWN_CHANNEL
        if refused := self._may_not_send(found):
            return refused
        if len(body.get("content") or "") > CONTENT_LIMIT:
            return TOO_LONG
        nonce = (found.id, str(body.get("nonce")))
        if body.get("enforce_nonce") and nonce in self._nonces:
            return 200, self._nonces[nonce]
        sent = self._add(found, body)
        self._nonces[nonce] = sent
        await self._double.emit("MESSAGE_CREATE", self._world.as_event(found, sent))
        return 200, sent

    def _may_not_send(self, channel: Channel) -> Answer | None:
        if channel.recipient is not None:
            return None if self._world.people[channel.recipient].accepts_dms else NO_DMS
        needed = SEND_IN_THREADS if channel.is_thread else SEND
        return None if self._world.may(channel, BOT, needed | VIEW) else NO_PERMISSION

    async def _edit(self, channel: str, message: str, *, body: Any, **_: Any) -> Answer:
        found = self._world.channels.get(int(channel))
        if found is None or int(message) not in found.messages:
            return UNKNOWN_MESSAGE
        return self._change(found.messages[int(message)], body)

    async def _delete(self, channel: str, message: str, **_: Any) -> Answer:
        found = self._world.channels.get(int(channel))
        if found is None or found.messages.pop(int(message), None) is None:
            return UNKNOWN_MESSAGE
        return 204, None

    def _add(self, channel: Channel, body: Json) -> Json:
        reference = body.get("message_reference")
        more: Json = {
            "embeds": body.get("embeds", []),
            "components": body.get("components", []),
            "flags": body.get("flags", 0),
            "nonce": body.get("nonce"),
            "files": sorted(body.get("files", {})),
        }
        if reference:
            ids = {key: str(value) for key, value in reference.items() if key.endswith("_id")}
            more |= {"message_reference": ids, "type": 19}
        return self._world.message(
            channel, self._world.people[BOT], body.get("content") or "", **more
        )

    def _change(self, message: Json, body: Json) -> Answer:
        if len(body.get("content") or "") > CONTENT_LIMIT:
            return TOO_LONG
        changed = {k: v for k, v in body.items() if k in ("content", "embeds", "components")}
        message |= changed | {"edited_timestamp": iso(time.time())}
        return 200, message

    # --- interactions ---------------------------------------------------------------------------

    async def _respond(self, _id: str, token: str, *, body: Any, **_: Any) -> Answer:
        made = self._double.interactions[token]
        if made.late:
            return UNKNOWN_INTERACTION
        if made.response is not None:
            return 400, {"message": "Already acknowledged", "code": 40060}
        made.response = body
        if body["type"] == 4:
            made.original = self._whisper(made, body["data"])
        return 200, {"interaction": {"id": made.id, "type": 2}}

    async def _follow_up(self, _app: str, token: str, *, body: Any, **_: Any) -> Answer:
        made = self._double.interactions[token]
        if made.response is None or made.late:
            return 404, {"message": "Unknown Webhook", "code": 10015}
        if len(body.get("content") or "") > CONTENT_LIMIT:
            return TOO_LONG
        made.followups.append(self._whisper(made, body))
        return 200, made.followups[-1]

    async def _edit_answer(
        self, _app: str, token: str, name: str, *, body: Any, **_: Any
    ) -> Answer:
        made = self._double.interactions[token]
        if made.response is None or made.late:
            return 404, {"message": "Unknown Webhook", "code": 10015}
        if name == "@original":
            made.original = made.original or self._whisper(made, made.response.get("data", {}))
            return self._change(made.original, body)
        message = next((m for m in made.followups if m["id"] == name), None)
        return self._change(message, body) if message else UNKNOWN_MESSAGE

    async def _delete_answer(self, _app: str, token: str, name: str, **_: Any) -> Answer:
        made = self._double.interactions[token]
        made.followups = [m for m in made.followups if m["id"] != name]
        return 204, None

    def _whisper(self, made: Interaction, body: Json) -> Json:
        """A message that only the person who asked sees: in no channel's history."""
        aside = Channel(made.channel.id, made.channel.type, made.channel.guild)
        sent = self._add(aside, body)
        sent["flags"] = body.get("flags", 0)
        return sent

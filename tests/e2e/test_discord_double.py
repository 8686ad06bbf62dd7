"""The Discord double behaves as Discord does, where the adapter depends on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import ClientSession, ClientWebSocketResponse

from tests.e2e.discord_double import (
    ACK,
    DISPATCH,
    HEARTBEAT,
    HELLO,
    IDENTIFY,
    INVALID,
    MEMBERS,
    RECONNECT,
    RESUME,
    DiscordDouble,
    Fault,
)
from tests.e2e.discord_world import EVERYDAY, HISTORY, VIEW, Json, Overwrite, World

GUILDS, PRIVILEGED = 1, 1 << 1


@asynccontextmanager
async def wire() -> AsyncIterator[tuple[DiscordDouble, ClientSession]]:
    async with DiscordDouble().serve() as double, ClientSession() as http:
        yield double, http


@asynccontextmanager
async def connected(
    double: DiscordDouble, http: ClientSession, op: int = IDENTIFY, **more: Any
) -> AsyncIterator[ClientWebSocketResponse]:
    """A socket after HELLO and the first frame of the client."""
    async with http.ws_connect(double.gateway_url) as socket:
        assert (await socket.receive_json())["op"] == HELLO
        await socket.send_json({"op": op, "d": {"token": double.token, "intents": GUILDS, **more}})
        yield socket


async def call(
    double: DiscordDouble, http: ClientSession, method: str, path: str, body: Json | None = None
) -> tuple[int, Any]:
    async with http.request(method, f"{double.api_url}/{path}", json=body) as answer:
        return answer.status, await answer.json() if answer.status != 204 else None


async def test_a_session_begins_with_ready_and_the_guilds() -> None:
    async with wire() as (double, http):
        guild = double.world.guild("g", double.world.person("alice"))
        async with connected(double, http) as socket:
            ready, created = await socket.receive_json(), await socket.receive_json()
            assert (ready["op"], ready["t"]) == (DISPATCH, "READY")
            assert ready["d"]["resume_gateway_url"] == double.gateway_url
            assert (created["t"], created["d"]["id"]) == ("GUILD_CREATE", str(guild.id))
            assert created["s"] == ready["s"] + 1
            await socket.send_json({"op": HEARTBEAT, "d": created["s"]})
            assert (await socket.receive_json())["op"] == ACK
            await socket.send_json({"op": MEMBERS, "d": {"guild_id": str(guild.id), "nonce": "n"}})
            chunk = (await socket.receive_json())["d"]
            assert (len(chunk["members"]), chunk["nonce"]) == (2, "n")


async def test_a_resumed_session_gets_what_it_missed_and_nothing_else() -> None:
    async with wire() as (double, http):
        async with connected(double, http) as socket:
            ready = await socket.receive_json()
            await double.ask_to_reconnect()
            assert (await socket.receive_json())["op"] == RECONNECT
        await double.emit("TYPING_START", {"missed": 1})
        session, seen = ready["d"]["session_id"], ready["s"]
        async with connected(double, http, RESUME, session_id=session, seq=seen) as socket:
            missed, resumed = await socket.receive_json(), await socket.receive_json()
            assert (missed["t"], missed["d"]) == ("TYPING_START", {"missed": 1})
            assert resumed["t"] == "RESUMED"


async def test_a_session_that_is_over_cannot_be_resumed() -> None:
    async with wire() as (double, http):
        async with connected(double, http) as socket:
            session = (await socket.receive_json())["d"]["session_id"]
            await double.invalidate()
            invalid = await socket.receive_json()
            assert (invalid["op"], invalid["d"]) == (INVALID, False)
        async with connected(double, http, RESUME, session_id=session, seq=1) as socket:
            assert (await socket.receive_json())["op"] == INVALID


@pytest.mark.parametrize(
    ("flags", "given", "code"),
    [(0, {"intents": PRIVILEGED}, 4014), (1 << 15, {"token": "wrong"}, 4004)],
)
async def test_what_is_not_allowed_closes_the_socket(flags: int, given: Json, code: int) -> None:
    async with wire() as (double, http):
        double.flags = flags
        async with connected(double, http, **given) as socket:
            assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
            assert socket.close_code == code


async def test_a_frozen_gateway_says_nothing() -> None:
    async with wire() as (double, http), connected(double, http) as socket:
        await socket.receive_json()
        double.is_frozen = True
        await socket.send_json({"op": HEARTBEAT, "d": 1})
        await double.emit("TYPING_START", {})
        with pytest.raises(TimeoutError):
            await socket.receive(timeout=0.05)


async def test_an_enforced_nonce_gives_back_the_message_that_is_there() -> None:
    async with wire() as (double, http):
        channel = double.world.channel(double.world.guild("g"), "general")
        body = {"content": "hi", "nonce": "n1", "enforce_nonce": True}
        path = f"channels/{channel.id}/messages"
        first = await call(double, http, "POST", path, body)
        again = await call(double, http, "POST", path, body)
        other = await call(double, http, "POST", path, {**body, "nonce": "n2"})
        assert first == again
        assert other[1]["id"] != first[1]["id"]
        assert len(channel.messages) == 2


async def test_faults_are_used_up_and_may_come_after_the_deed() -> None:
    async with wire() as (double, http):
        channel = double.world.channel(double.world.guild("g"), "general")
        path = f"channels/{channel.id}/messages"
        double.faults.append(Fault("POST", "messages", 502, {}, after=True))
        double.rate_limit("POST", "messages", is_global=True)
        assert (await call(double, http, "POST", path, {"content": "a"}))[0] == 502
        async with http.post(f"{double.api_url}/{path}", json={"content": "b"}) as limited:
            assert limited.status == 429
            assert limited.headers["X-RateLimit-Global"] == "true"
        assert (await call(double, http, "POST", path, {"content": "c"}))[0] == 200
        assert [m["content"] for m in channel.messages.values()] == ["a", "c"]


async def test_rest_keeps_discords_limits_and_permissions() -> None:
    async with wire() as (double, http):
        alice = double.world.person("alice")
        guild = double.world.guild("g", alice)
        channel = double.world.channel(guild, "general")
        path = f"channels/{channel.id}/messages"
        assert (await call(double, http, "POST", path, {"content": "x" * 2001}))[1]["code"] == 50035
        channel.overwrites = [Overwrite(guild.id, False, deny=VIEW)]
        assert (await call(double, http, "POST", path, {"content": "x"}))[1]["code"] == 50013
        assert (await call(double, http, "GET", path))[1]["code"] == 50001
        alice.accepts_dms = False
        dm = double.world.dm(alice)
        refused = await call(double, http, "POST", f"channels/{dm.id}/messages", {"content": "x"})
        assert refused[1]["code"] == 50007
        assert (await call(double, http, "GET", "guilds/1/members/2"))[0] == 403
        assert (await call(double, http, "GET", "nothing/here"))[0] == 404


async def test_a_thread_has_the_id_of_its_message_and_exists_once() -> None:
    async with wire() as (double, http):
        alice = double.world.person("alice")
        channel = double.world.channel(double.world.guild("g", alice), "general")
        said = double.world.message(channel, alice, "hi")
        path = f"channels/{channel.id}/messages/{said['id']}/threads"
        status, thread = await call(double, http, "POST", path, {"name": "t"})
        assert (status, thread["id"]) == (201, said["id"])
        assert (await call(double, http, "POST", path, {"name": "t"}))[1]["code"] == 160004


async def test_history_is_newest_first_between_the_bounds() -> None:
    async with wire() as (double, http):
        alice = double.world.person("alice")
        channel = double.world.channel(double.world.guild("g", alice), "general")
        ids = [double.world.message(channel, alice, str(n))["id"] for n in range(5)]
        path = f"channels/{channel.id}/messages?limit=2"
        for bound, expected in (
            (f"&after={ids[0]}", [ids[2], ids[1]]),
            (f"&before={ids[4]}", [ids[3], ids[2]]),
            ("", [ids[4], ids[3]]),
        ):
            found = (await call(double, http, "GET", path + bound))[1]
            assert [each["id"] for each in found] == expected


async def test_an_interaction_is_answered_once_and_in_time() -> None:
    async with wire() as (double, http):
        alice = double.world.person("alice")
        channel = double.world.channel(double.world.guild("g", alice), "general")
        async with connected(double, http):
            made = await double.slash(alice, channel, "list")
            late = await double.slash(alice, channel, "list", late=True)
        path = f"interactions/{made.id}/{made.token}/callback"
        webhook = f"webhooks/1/{made.token}"
        early = await call(double, http, "PATCH", f"{webhook}/messages/@original", {"content": "x"})
        assert early[1]["code"] == 10015
        deferred = {"type": 5, "data": {"flags": 64}}
        assert (await call(double, http, "POST", path, deferred))[0] == 200
        assert (await call(double, http, "POST", path, deferred))[1]["code"] == 40060
        await call(double, http, "PATCH", f"{webhook}/messages/@original", {"content": "one"})
        await call(double, http, "POST", webhook, {"content": "two", "flags": 64})
        assert made.shown == ["one", "two"]
        assert made.is_ephemeral
        assert channel.messages == {}
        refused = await call(double, http, "POST", f"interactions/{late.id}/{late.token}/callback",
                             deferred)  # fmt: skip
        assert refused[1]["code"] == 10062


def test_the_world_computes_permissions_in_discords_order() -> None:

    world = World()
    alice = world.person("alice")
    guild = world.guild("g", alice)
    role = world.role(guild)
    guild.members[alice.id] = {role}
    channel = world.channel(guild, "c")
    assert world.may(channel, alice.id, VIEW | HISTORY)
    channel.overwrites = [Overwrite(guild.id, False, deny=VIEW)]
    assert not world.may(channel, alice.id, VIEW)
    channel.overwrites.append(Overwrite(role, False, allow=VIEW))
    assert world.may(channel, alice.id, VIEW)
    channel.overwrites.append(Overwrite(alice.id, True, deny=VIEW))
    assert not world.may(channel, alice.id, VIEW)
    thread = world.thread(channel, "t", private=True)
    channel.overwrites = []
    assert not world.may(thread, alice.id, VIEW)
    assert guild.roles[guild.id] == EVERYDAY

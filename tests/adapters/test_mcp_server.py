"""The memory as an MCP server: one person's tools, with their live readable set."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.mcp_server import make_server
from bot.i18n import translator
from bot.mcp_tools import PersonalTools
from bot.messages import EventKind, Reply
from memory.access import Access
from memory.types import Person, Readable
from tests.fakes import GENERAL, HANAKO, SECRET, TARO, TARO_DM, Desk

pytest.importorskip("mcp")


class Caller:
    """A program with a token of Taro's."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.access = Access(desk.mind.database, desk.mind.clock)
        self.readable = Readable.of(TARO_DM, GENERAL, SECRET)

    async def open(self, person: Person = TARO) -> Any:
        """A client of the server, with a new token."""
        self.token = await self.access.issue(person, "test")
        tools = PersonalTools(
            self.access, self.desk.mind.memory, self._run, self._readable, self.token
        )
        return make_server(tools, "0")

    async def _run(self, person: Person, text: str) -> Reply:
        message = self.desk.incoming(text, person, kind=EventKind.COMMAND)
        return await self.desk.commands.run(text, message, translator("en"))

    async def _readable(self, _person: Person) -> Readable:
        return self.readable


@pytest.fixture
def caller(desk: Desk) -> Caller:
    return Caller(desk)


async def call(server: Any, tool: str, **arguments: Any) -> tuple[bool, str]:
    """Whether it failed, and everything that came back as text."""
    from mcp import Client

    async with Client(server) as client:
        result = await client.call_tool(tool, arguments)
    told = " ".join(str(getattr(part, "text", "")) for part in result.content)
    return bool(result.is_error), told


async def test_there_are_three_tools(caller: Caller) -> None:
    from mcp import Client

    async with Client(await caller.open()) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
    assert names == ["search", "remember", "forget"]


@pytest.mark.parametrize(
    ("text", "query"), [("I live in Osaka", "live Osaka"), ("猫が好きです", "猫")]
)
async def test_what_is_remembered_is_found_and_forgotten(
    caller: Caller, text: str, query: str
) -> None:
    server = await caller.open()
    failed, _ = await call(server, "remember", text=text)
    assert not failed
    _, found = await call(server, "search", query=query)
    assert text.removesuffix("です") in found
    (fact,) = await caller.desk.mind.memory.facts_about(TARO, caller.readable)
    failed, said = await call(server, "forget", numbers=[fact.id])
    assert not failed
    assert "1" in said
    _, found = await call(server, "search", query=query)
    assert text.removesuffix("です") not in found


async def test_only_what_the_person_can_read_now_is_found(caller: Caller) -> None:
    await caller.desk.mind.state(
        "the alarm code is kurosawa",
        said={"audience": SECRET},
        audience=SECRET,
        speaker=HANAKO,
        subject=HANAKO,
    )
    server = await caller.open()
    _, found = await call(server, "search", query="alarm code kurosawa")
    assert "kurosawa" in found
    caller.readable = Readable.of(TARO_DM, GENERAL)
    _, found = await call(server, "search", query="alarm code kurosawa")
    assert "kurosawa" not in found


async def test_somebody_elses_fact_is_not_forgotten(caller: Caller) -> None:
    fact = await caller.desk.mind.state(
        "Hanako likes tea",
        said={"audience": GENERAL, "author": HANAKO},
        audience=GENERAL,
        speaker=HANAKO,
        subject=HANAKO,
    )
    server = await caller.open()
    await call(server, "forget", numbers=[fact.id])
    assert await caller.desk.mind.memory.facts_by_id([fact.id], caller.readable) == [fact]


async def test_a_revoked_token_opens_nothing_from_that_moment(caller: Caller) -> None:
    server = await caller.open()
    assert not (await call(server, "search", query="x"))[0]
    (token,) = await caller.access.tokens()
    assert token.last_used_at == caller.desk.mind.clock()
    assert await caller.access.revoke(token.id)
    for tool, arguments in (
        ("search", {"query": "x"}),
        ("remember", {"text": "I like tea"}),
        ("forget", {"numbers": [1]}),
    ):
        failed, said = await call(server, tool, **arguments)
        assert failed
        assert "not valid" in said
    assert await caller.desk.mind.memory.facts_about(TARO, caller.readable) == []


async def test_tokens_of_somebody_who_left_are_void(caller: Caller) -> None:
    await caller.open()
    other = await caller.access.issue(HANAKO, "")
    await caller.desk.mind.directory.deactivate(TARO)
    assert await caller.access.owner(caller.token) is None
    assert await caller.access.owner(other) == HANAKO


async def test_options_cannot_be_smuggled_in(caller: Caller) -> None:
    server = await caller.open()
    await call(server, "remember", text="I like tea --yes")
    failed, _ = await call(server, "forget", numbers=[-1])
    assert failed
    assert len(await caller.desk.mind.memory.facts_about(TARO, caller.readable)) == 1

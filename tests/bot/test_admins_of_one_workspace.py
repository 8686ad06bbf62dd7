"""Who manages one server or workspace decides nothing for another, and learns nothing of it.

Discord's people are the same in all servers (tenant `@me`), so that who administers what cannot
be told from the person: it is told from where they ask.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.admin_places import ADMINS
from bot.commands import Commands
from bot.messages import Author, Surface
from bot.metrics import Metrics
from bot.operations import Options, assemble
from memory.retention import Limits
from memory.store import reminders
from memory.types import Audience, Fact, Person, Readable
from tests.fakes import Desk

MANAGER = Person("discord", "@me", "1")
OTHER = Person("discord", "@me", "2")
HERE = Audience("discord", "111", "10")
THERE = Audience("discord", "222", "20")
HER_DM = Audience("discord", "@me", "2")
PLACES = (HERE, THERE, HER_DM)


@pytest.fixture
def discord(desk: Desk, tmp_path: Path) -> Desk:
    mind = desk.mind
    operations = assemble(
        mind.memory,
        mind.directory,
        mind.database,
        mind.ledger,
        None,
        Metrics(mind.database, mind.clock),
        {},
        Options("UTC", Limits(), tmp_path / "backups", 4),
        mind.clock,
    )
    desk.commands = Commands(
        mind.memory, mind.directory, desk.extractor, mind.clock, operations.runs()
    )
    return desk


def managing(server: str = "111", *, everywhere: bool = False) -> dict[str, Any]:
    """How a command of the manager's arrives from their server."""
    dm = Audience("discord", "@me", "1")
    readable = Readable.of(dm, HERE, *([ADMINS] if everywhere else []))
    return {
        "tenant": server,
        "author": Author(MANAGER, "manager", is_admin=True),
        "audience": dm,
        "place": HERE,
        "readable": readable,
        "surface": Surface.PUBLIC,
        "private_reply": True,
    }


async def said_everywhere(desk: Desk) -> None:
    """She says something in both servers and in her DM."""
    for place in PLACES:
        await desk.say(
            f"I like figs in {place.name}",
            OTHER,
            tenant=place.tenant,
            audience=place,
            readable=Readable.of(place),
            conversation=str(place),
            permalink=f"https://discord.example/{place.tenant}/{place.name}/1",
        )


async def left(desk: Desk) -> set[Audience]:
    known: list[Fact] = await desk.mind.memory.facts_about(OTHER, Readable.of(*PLACES), past=True)
    return {fact.audience for fact in known}


async def test_a_leaver_is_forgotten_in_the_admins_own_server_alone(discord: Desk) -> None:
    await said_everywhere(discord)
    await discord.command(f"forget person {OTHER} --yes", MANAGER, **managing())
    assert await left(discord) == {THERE, HER_DM}
    assert await discord.mind.problems() == []


async def test_a_leaver_is_forgotten_everywhere_by_an_admin_of_the_installation(
    discord: Desk,
) -> None:
    await said_everywhere(discord)
    await discord.command(f"forget person {OTHER} --yes", MANAGER, **managing(everywhere=True))
    assert await left(discord) == set()


async def test_a_person_of_another_platform_is_not_theirs(discord: Desk) -> None:
    await discord.say("I like figs")
    refused = await discord.command("forget person console:local:taro --yes", MANAGER, **managing())
    assert "admin" in refused.text


async def test_a_channel_of_their_server_is_theirs_to_forget(discord: Desk) -> None:
    await said_everywhere(discord)
    await discord.command("forget channel --yes", MANAGER, **managing())
    assert await left(discord) == {THERE, HER_DM}


async def test_with_a_channel_go_its_reminders(discord: Desk) -> None:
    for place in (HERE, THERE):
        await discord.command(
            "remind in 10 minutes of Zanzibarqx", OTHER, tenant=place.tenant, audience=place
        )
    await discord.command("forget channel --yes", MANAGER, **managing())
    kept = await discord.mind.database.read(
        lambda s: [len(reminders.of_person(s, OTHER, place)) for place in (HERE, THERE)]
    )
    assert kept == [0, 1]


@pytest.mark.parametrize("place", PLACES)
async def test_a_message_goes_by_its_link_in_their_own_server_alone(
    discord: Desk, place: Audience
) -> None:
    await said_everywhere(discord)
    link = f"https://discord.example/{place.tenant}/{place.name}/1"
    await discord.command(f"forget {link}", MANAGER, **managing())
    assert await left(discord) == set(PLACES) - ({place} if place == HERE else set())


@pytest.mark.parametrize(("place", "answer"), [(HERE, "Cancelled"), (HER_DM, "no such reminder")])
async def test_a_reminder_of_somebody_else_is_theirs_in_their_own_server_alone(
    discord: Desk, place: Audience, answer: str
) -> None:
    await discord.command(
        "remind in 10 minutes stretch", OTHER, tenant=place.tenant, audience=place, place=place
    )
    gone = await discord.command("remind cancel 1", MANAGER, **managing())
    assert answer in gone.text


async def test_counts_are_those_of_their_own_server(discord: Desk) -> None:
    await said_everywhere(discord)
    own = await discord.command("admin stats", MANAGER, **managing())
    assert "Facts: 1," in own.text
    assert "Messages: 2," in own.text
    whole = await discord.command("admin stats", MANAGER, **managing(everywhere=True))
    assert "Facts: 3," in whole.text
    assert "Messages: 6," in whole.text


@pytest.mark.parametrize(
    "command",
    ["forget {}", "why {}", "why fact {}", "good {}", "bad {}", "remind cancel {}", "forget 1, {}"],
)
@pytest.mark.parametrize("number", ["9" * 19, "9" * 5_000, "９" * 30, "0"])
async def test_a_number_of_any_length_is_that_of_nothing(
    discord: Desk, command: str, number: str
) -> None:
    reply = await discord.command(command.format(number))
    assert reply.private
    assert not reply.failed

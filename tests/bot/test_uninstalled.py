"""From a platform's event to the lock and back, with digests and reminders in between."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from adapters.discord_events import of_guild
from bot import app as application
from bot import app_models
from bot.commands import Commands
from bot.extract import StatementExtractor
from bot.i18n import translator
from bot.messages import EventKind, Surface
from bot.reminders import Reminders
from bot.responder import Responder
from bot.settings import Settings
from memory.knowledge import Knowledge
from memory.types import Audience, Person, Readable
from memory.uninstalled import Uninstalled
from tests.bot.test_reminders import Board
from tests.fakes import NOON, Desk, FakeEmbedder, Mind, SettableClock, bytes_of

MIA = Person("discord", "@me", "7")
HERE, THERE = Audience("discord", "111", "10"), Audience("discord", "222", "20")
DM = Audience("discord", "@me", "7")


@pytest.fixture
def uninstalled(mind: Mind) -> Uninstalled:
    documents = Knowledge(mind.database, mind.embedding, mind.ledger, mind.clock, len)
    return Uninstalled(
        mind.database, mind.directory, mind.embedding, documents, mind.ledger, mind.clock
    )


@pytest.fixture
def served(mind: Mind, uninstalled: Uninstalled) -> Desk:
    """A desk whose responder is told who uses Oboete, as in `bot.app`."""
    extractor = StatementExtractor(mind.memory)
    commands = Commands(mind.memory, mind.directory, extractor, mind.clock)
    responder = Responder(
        mind.memory, mind.directory, commands, extractor, None, mind.clock,
        answer_tokens=256, welcome=uninstalled.welcome,
    )  # fmt: skip
    return Desk(mind, commands, extractor, responder)


def at(place: Audience, *more: Audience, **changed: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "tenant": place.tenant,
        "audience": place,
        "readable": Readable.of(place, *more),
        "surface": Surface.DM if place == DM else Surface.PUBLIC,
        "conversation": str(place),
    }
    return given | changed


async def happens(desk: Desk, event: str, place: Audience = HERE) -> None:
    desk.mind.clock.advance(minutes=1)
    arguments = {"event": event}
    await desk.say("", MIA, **at(place, kind=EventKind.ACTION, arguments=arguments))
    desk.mind.clock.advance(minutes=1)


async def answers(desk: Desk) -> tuple[str, str]:
    """What somebody in both servers hears in their DM, and what in the server that stayed."""
    asked = "What is my cat called?", "猫の名前は？"
    dm = [(await desk.say(text, MIA, **at(DM, HERE, THERE))).text for text in asked]
    there = [(await desk.say(text, MIA, **at(THERE))).text for text in asked]
    return " ".join(dm), " ".join(there)


async def test_a_person_of_two_servers_hears_nothing_of_the_one_that_is_gone(served: Desk) -> None:
    await served.say("My cat is called Momo", MIA, **at(HERE))
    await served.say("猫の名前はタマです", MIA, **at(HERE))
    await served.say("I like figs", MIA, **at(THERE))
    assert "Momo" in (await answers(served))[0]
    await happens(served, "uninstalled")
    for text in await answers(served):
        assert "Momo" not in text
        assert "タマ" not in text
    listed = await served.command("list", MIA, **at(DM, HERE, THERE))
    assert "Momo" not in listed.text
    assert "figs" in listed.text
    exported = await served.command("export", MIA, **at(DM, HERE, THERE))
    assert "タマ" not in str(exported)
    assert "figs" in str(exported)


@pytest.mark.parametrize("back", ["joined", "words"])
async def test_the_lock_ends_when_it_is_installed_again(
    served: Desk, uninstalled: Uninstalled, back: str
) -> None:
    await served.say("My cat is called Momo", MIA, **at(HERE))
    await happens(served, "uninstalled")
    await happens(served, "uninstalled")  # Slack tells it twice, in two ways
    assert served.mind.directory.is_locked("discord", "111")
    early = served.mind.clock() - timedelta(hours=1)
    await served.say("まだ残っていた言葉", MIA, **at(HERE, sent_at=early))
    assert served.mind.directory.is_locked("discord", "111"), "it was said before"
    served.mind.clock.advance(days=29)
    if back == "joined":
        await happens(served, "joined")
    else:
        await served.say("hello again", MIA, **at(HERE))
    assert not served.mind.directory.is_locked("discord", "111")
    assert "Momo" in (await answers(served))[0]
    served.mind.clock.advance(days=2)
    assert (await uninstalled.erase_due())["tenants"] == 0


async def test_nothing_is_posted_where_it_is_gone_and_later_it_is(served: Desk, mind: Mind) -> None:
    board = Board(readable=Readable.of(HERE))
    posting = Reminders(mind.database, mind.directory, mind.memory, mind.clock)
    posting.attach({"discord": board})
    await mind.directory.change_place(HERE, listen=True)
    for wish in ("every Monday at 9: what did we decide?", "明日9時に家賃を払うことを思い出させて"):
        message = served.incoming(wish, MIA, **at(HERE))
        assert await posting.take(message, translator("en")) is not None
    mind.clock.advance(minutes=1)
    await mind.state("We decided to ship on Friday", said={"audience": HERE, "author": MIA})
    await happens(served, "uninstalled")
    mind.clock.advance(days=8)
    await posting.post_due()
    assert board.posts == []
    await happens(served, "joined")
    await posting.post_due()
    texts = " ".join(text for _, text in board.posts)
    assert "ship on Friday" in texts
    assert "家賃" in texts


def test_a_server_that_goes_and_comes_again_within_days_is_no_twin_of_itself() -> None:
    for event in ("uninstalled", "joined"):
        twice = [of_guild(event, 111, 10, NOON + timedelta(hours=n)) for n in (0, 1)]
        assert twice[0].payload["id"] != twice[1].payload["id"]


async def test_a_restart_knows_what_is_locked(served: Desk, mind: Mind) -> None:
    await happens(served, "uninstalled")
    again = type(mind.directory)(mind.database, mind.clock)
    assert not again.is_locked("discord", "111")
    await again.load()
    assert again.is_locked("discord", "111")
    assert not again.is_locked("discord", "222")


async def test_the_program_is_wired_to_lock_to_erase_and_to_welcome_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_models, "make_embedder", lambda _name, _settings: FakeEmbedder())
    clock = SettableClock()
    settings = Settings(data_dir=tmp_path / "data", chat_model="none")
    async with application.opened(settings, clock=clock) as app:
        mind = replace(Mind.over(app.database, clock), memory=app.memory, directory=app.directory)
        extractor = StatementExtractor(app.memory)
        desk = Desk(mind, app.commands, extractor, app.responder)
        await desk.say("My cat is called Momo", MIA, **at(HERE))
        await happens(desk, "uninstalled")
        assert app.directory.is_locked("discord", "111")
        clock.advance(days=1)
        await happens(desk, "joined")
        assert not app.directory.is_locked("discord", "111")
        await happens(desk, "uninstalled")
        clock.advance(days=30)
        (job,) = [j for j in app.operations.jobs.jobs if j.name == "erase uninstalled"]
        done = dict(await job.work())
        assert done["tenants"] == 1
        assert done["messages"] > 0
        assert await mind.problems() == []
    assert b"Momo" not in bytes_of(tmp_path / "data")

"""A team's files on Discord, from the upload to the answer and back: `oboete run` itself over real
sockets.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.e2e.discord_people import Interaction
from tests.e2e.discord_run import DiscordRun, discord_run, everything
from tests.e2e.discord_world import BOT, DM, Channel, Guild, Json, Person
from tests.e2e.slack_run import copied
from tests.memory.reading.files import docx, japanese_lines, latin_lines, paragraph, pdf
from tests.ollama_double import OllamaDouble

pytestmark = pytest.mark.asyncio(loop_scope="module")

LEAVE = pdf(
    [
        latin_lines(["Office hours are from nine to five."]),
        latin_lines(["Parental leave lasts twenty six weeks at full pay."]),
    ]
)
TRAVEL = docx(paragraph("Hotels in Lisbon are booked through the agency Albatross."))
KITCHEN = docx(paragraph("The kitchen on the third floor is cleaned by Sparkle Limited."))
BUDGET = docx(paragraph("The budget of the Heron project is ninety thousand euros."))
RULES = pdf(
    [
        japanese_lines(["勤務時間は九時から五時までです。"]),
        japanese_lines(["育児休暇は二十六週間で、給与は全額支給されます。"]),
    ]
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def run(
    tmp_path_factory: pytest.TempPathFactory, prepared: Path
) -> AsyncIterator[DiscordRun]:
    """One program for all tests here; each has people and a guild of its own."""
    folder = tmp_path_factory.mktemp("uploads")
    copied(prepared, folder / "data")
    async with (
        OllamaDouble() as ollama,
        discord_run(folder, ollama, OBOETE_EMBEDDER="embedded") as running,
    ):
        yield running


async def office(run: DiscordRun, base: str, *others: Person) -> tuple[Guild, Channel, Person]:
    """A guild whose owner has made a knowledge base in its public channel."""
    owner = run.person("olga")
    guild = await run.guild("office", owner, *others)
    guild.owner = owner.id
    await run.discord.emit("GUILD_UPDATE", run.world.guild_body(guild))
    general = run.channel(guild, "general")
    made = await run.command(owner, general, "bases", what=f"new {base}")
    assert "everybody who can read #general" in shown(made)
    return guild, general, owner


async def share(
    run: DiscordRun, who: Person, channel: Channel, text: str, name: str, data: bytes
) -> Json:
    """Share a file, addressed to the bot, and wait until that has been handled."""
    said = text if channel.type == DM else f"<@{BOT}> {text}"
    shared = await run.discord.share_file(who, channel, said, name, data)
    await run.handled(f"message:{shared['id']}")
    return shared


def shown(made: Interaction) -> str:
    return "\n".join(made.shown)


async def number_of(run: DiscordRun, who: Person, channel: Channel, name: str) -> str:
    """The number by which a document is listed."""
    listed = shown(await run.command(who, channel, "sources"))
    found = re.search(rf"\*\*(\d+)\*\* {re.escape(name)}", listed)
    assert found, listed
    return found[1]


# --- added, cited, removed --------------------------------------------------------------


async def test_a_document_is_cited_with_its_page_until_it_is_removed_by_command(
    run: DiscordRun,
) -> None:
    alice, bob = run.person("alice"), run.person("bob")
    _, general, _ = await office(run, "handbook", alice, bob)
    said = await share(run, alice, general, "add this to our handbook", "leave.pdf", LEAVE)
    assert "leave.pdf: added to “handbook” (2 pages)." in run.answer(general, said)
    question = "How long does parental leave last?"
    for asker in (alice, bob):
        answer = await run.mention(asker, general, question)
        assert "twenty six weeks" in answer
        assert "leave.pdf, p. 2" in answer
        assert f"/{general.id}/{said['id']}" in answer  # the citation leads to the message
    number = await number_of(run, alice, general, "leave.pdf")
    await run.command(bob, general, "sources", what=f"remove {number} --yes")
    assert "twenty six weeks" in await run.mention(bob, general, question)  # not Bob's to remove
    asked = await run.command(alice, general, "sources", what=f"remove {number}")
    assert asked.original is not None
    removed = await run.confirm(alice, general, asked.original, "Remove")
    assert "Removed: 1 document" in shown(removed)
    answer = await run.mention(bob, general, question)
    assert "twenty six" not in answer
    assert "leave.pdf" not in answer
    assert run.program.on_disk("twenty six weeks") == []


@pytest.mark.parametrize("how", ["message deleted", "file taken off"])
async def test_a_document_goes_with_what_brought_it(run: DiscordRun, how: str) -> None:
    alice = run.person("alice")
    _, general, owner = await office(run, "travel", alice)
    said = await share(run, alice, general, "please save this into travel", "trips.docx", TRAVEL)
    assert "trips.docx: added to “travel”" in run.answer(general, said)
    question = "Who books hotels in Lisbon?"
    answer = await run.mention(owner, general, question)
    assert "Albatross" in answer
    assert "trips.docx" in answer
    if how == "message deleted":
        await run.delete(general, said)
    else:
        await run.discord.take_off_files(general, said)
        await run.program.until(lambda: not run.program.open_events())
        await run.program.until(lambda: not run.program.on_disk("Albatross"))
    assert "Albatross" not in await run.mention(owner, general, question)
    assert run.program.on_disk("Albatross") == []


async def test_a_collected_file_goes_with_its_message_although_it_was_never_addressed(
    run: DiscordRun,
) -> None:
    alice = run.person("alice")
    _, general, owner = await office(run, "house", alice)
    await run.command(owner, general, "bases", what="collect house on")
    before = run.shown_in(general)
    said = await run.discord.share_file(alice, general, "the new plan", "plan.docx", KITCHEN)
    await run.handled(f"message:{said['id']}")
    assert run.shown_in(general) == before  # nobody asked it to say anything
    question = "Who cleans the kitchen on the third floor?"
    assert "Sparkle" in await run.mention(owner, general, question)
    await run.delete(general, said)
    assert "Sparkle" not in await run.mention(owner, general, question)


async def test_in_japanese_in_a_direct_message(run: DiscordRun) -> None:
    hanako = run.person("花子")
    dm = run.world.dm(hanako)
    await run.command(hanako, dm, "bases", locale="ja", what="new ハンドブック")
    said = await share(run, hanako, dm, "これをハンドブックに追加して", "規則.pdf", RULES)
    added = run.answer(dm, said)
    assert "規則.pdf: " in added
    assert "2ページ" in added
    question = "育児休暇は何週間ですか？"
    answer = await run.mention(hanako, dm, question)
    assert "二十六週間" in answer
    assert "規則.pdf、2ページ" in answer
    number = await number_of(run, hanako, dm, "規則.pdf")
    await run.command(hanako, dm, "sources", locale="ja", what=f"削除 {number} --yes")
    assert "二十六週間" not in await run.mention(hanako, dm, question)


# --- other places, and what cannot be added ---------------------------------------------


async def test_a_private_file_waits_until_its_uploader_agrees_to_who_will_read_it(
    run: DiscordRun,
) -> None:
    alice, bob = run.person("alice"), run.person("bob")
    _, general, _ = await office(run, "ledger", alice, bob)
    dm = run.world.dm(alice)
    said = await share(run, alice, dm, "add this to the ledger", "heron.docx", BUDGET)
    (offer,) = run.answers(dm, said)
    assert "everybody who can read #general" in everything(offer)
    question = "What is the budget of the Heron project?"
    assert "ninety" not in await run.mention(bob, general, question)
    await run.press(alice, dm, offer, "Add it")
    answer = await run.mention(bob, general, question)
    assert "ninety thousand" in answer
    assert "heron.docx" in answer
    await run.delete(dm, said)
    assert "ninety" not in await run.mention(bob, general, question)


async def test_what_cannot_be_read_is_said_to_its_uploader_alone(run: DiscordRun) -> None:
    alice = run.person("alice")
    _, general, _ = await office(run, "files", alice)
    before = run.shown_in(general)
    await share(run, alice, general, "add this to files", "broken.pdf", b"%PDF-1.7 broken")
    assert run.shown_in(general) == before
    assert "broken.pdf" in run.shown_in(run.world.dm(alice))
    assert "Traceback" not in run.program.log_text()

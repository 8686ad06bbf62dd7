"""A team's files in Slack, from the upload to the answer and back: `oboete run` itself over real
sockets.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.e2e.slack_double import SlackDouble
from tests.e2e.slack_run import ME, SlackRun, button, copied, everything, oboete_run
from tests.e2e.slack_workspace import Workspace
from tests.memory.reading.files import docx, japanese_lines, latin_lines, paragraph, pdf

pytestmark = pytest.mark.asyncio(loop_scope="module")

ADMIN, ALICE, BOB, HANAKO = "UADMIN", "UALICE", "UBOB", "UHANAKO"
LEAVE = pdf(
    [
        latin_lines(["Office hours are from nine to five."]),
        latin_lines(["Parental leave lasts twenty six weeks at full pay."]),
    ]
)
TRAVEL = docx(paragraph("Hotels in Lisbon are booked through the agency Albatross."))
KITCHEN = docx(paragraph("The kitchen on the third floor is cleaned by Sparkle Limited."))
PLAN = docx(paragraph("The fence in the garden is painted by Violet Brush."))
BUDGET = docx(paragraph("The budget of the Heron project is ninety thousand euros."))
RULES = pdf(
    [
        japanese_lines(["勤務時間は九時から五時までです。"]),
        japanese_lines(["育児休暇は二十六週間で、給与は全額支給されます。"]),
    ]
)


def workspace() -> Workspace:
    made = Workspace()
    made.add_user(ADMIN, "Admin", admin=True)
    made.add_user(ALICE, "Alice")
    made.add_user(BOB, "Bob")
    made.add_user(HANAKO, "Hanako", locale="ja-JP")
    for name in ("CPEOPLE", "CTRAVEL", "CKITCHEN", "CPLANS", "CJA", "CWIDE"):
        made.add_channel(name, "public", ADMIN, ALICE, BOB, HANAKO)
    made.add_channel("GBOARD", "private", ADMIN, ALICE)
    return made


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def run(tmp_path_factory: pytest.TempPathFactory, prepared: Path) -> AsyncIterator[SlackRun]:
    folder = copied(prepared, tmp_path_factory.mktemp("uploads") / "data")
    async with SlackDouble(workspace()) as slack, oboete_run(slack, folder) as running:
        yield running


async def share(
    run: SlackRun, user: str, channel: str, text: str, name: str, data: bytes, **fields: str
) -> tuple[str, str, str]:
    """Share a file, addressed to the bot: the message, the file's id, and what is answered to
    everybody there."""
    said = text if channel.startswith("D") else f"{ME} {text}"
    before = len(run.slack.workspace.answers(channel))
    ts, file_id = await run.slack.share_file(user, channel, said, name, data, **fields)
    await run.settled()
    answers = run.slack.workspace.answers(channel)[before:]
    return ts, file_id, "\n".join(map(everything, answers))


async def number_of(run: SlackRun, user: str, channel: str, name: str) -> str:
    """The number by which a document is listed."""
    listed = await run.command(user, channel, "sources")
    found = re.search(rf"\*\*(\d+)\*\* {re.escape(name)}", listed)
    assert found, listed
    return found[1]


# --- added, cited, removed --------------------------------------------------------------


async def test_a_document_is_cited_with_its_page_until_it_is_removed_by_command(
    run: SlackRun,
) -> None:
    await run.command(ADMIN, "CPEOPLE", "bases new handbook")
    _, _, added = await share(run, ALICE, "CPEOPLE", "add this to our handbook", "leave.pdf", LEAVE)
    assert "leave.pdf: added to “handbook” (2 pages)." in added
    question = "How long does parental leave last?"
    for asker in (ALICE, BOB):
        answer = await run.mention(asker, "CPEOPLE", question)
        assert "twenty six weeks" in answer
        assert "leave.pdf, p. 2" in answer
        assert "archives/CPEOPLE" in answer  # the citation leads to the message with the file
    number = await number_of(run, ALICE, "CPEOPLE", "leave.pdf")
    await run.command(BOB, "CPEOPLE", f"sources remove {number} --yes")
    assert "twenty six weeks" in await run.mention(BOB, "CPEOPLE", question)  # not Bob's to remove
    await run.command(ALICE, "CPEOPLE", f"sources remove {number}")
    asked = run.slack.responses[-1]
    await run.slack.click(
        ALICE, button(asked, "Remove"), channel="CPEOPLE", message=asked | {"ts": "1.1"}
    )
    await run.confirm(ALICE)
    answer = await run.mention(BOB, "CPEOPLE", question)
    assert "twenty six" not in answer
    assert "leave.pdf" not in answer
    assert b"twenty six weeks" not in run.bytes_on_disk()


async def test_a_file_deleted_in_slack_is_found_no_more(run: SlackRun) -> None:
    await run.command(ADMIN, "CTRAVEL", "bases new travel")
    _, file_id, added = await share(
        run,
        BOB,
        "CTRAVEL",
        "please save this into travel",
        "trips.docx",
        TRAVEL,
        twins="no mention",
    )
    assert "trips.docx: added to “travel”" in added
    question = "Who books hotels in Lisbon?"
    answer = await run.mention(ALICE, "CTRAVEL", question)
    assert "Albatross" in answer
    assert "trips.docx" in answer
    await run.slack.delete_file(file_id)
    await run.settled()
    assert "Albatross" not in await run.mention(ALICE, "CTRAVEL", question)
    assert b"Albatross" not in run.bytes_on_disk()


async def test_a_document_goes_with_the_message_that_brought_it(run: SlackRun) -> None:
    await run.command(ADMIN, "CKITCHEN", "bases new house")
    ts, _, _ = await share(run, BOB, "CKITCHEN", "add it to house", "kitchen.docx", KITCHEN)
    question = "Who cleans the kitchen on the third floor?"
    assert "Sparkle" in await run.mention(ALICE, "CKITCHEN", question)
    await run.slack.delete("CKITCHEN", ts)
    await run.settled()
    assert "Sparkle" not in await run.mention(ALICE, "CKITCHEN", question)


async def test_a_channel_that_collects_takes_in_files_that_are_not_addressed_to_it(
    run: SlackRun,
) -> None:
    await run.command(ADMIN, "CPLANS", "bases new plans")
    await run.command(ADMIN, "CPLANS", "bases collect plans on")
    before = len(run.slack.workspace.answers("CPLANS"))
    await run.say(BOB, "CPLANS", "Our garden gnome is called Oswald.")
    ts, _ = await run.slack.share_file(BOB, "CPLANS", "the plan", "plan.docx", PLAN)
    await run.settled()
    assert len(run.slack.workspace.answers("CPLANS")) == before  # nobody asked it to say anything
    question = "Who paints the fence in the garden?"
    assert "Violet Brush" in await run.mention(ALICE, "CPLANS", question)
    assert b"Oswald" not in run.bytes_on_disk()  # it collects files, and listens to nobody
    await run.slack.delete("CPLANS", ts)
    await run.settled()
    assert "Violet Brush" not in await run.mention(ALICE, "CPLANS", question)


async def test_in_japanese(run: SlackRun) -> None:
    await run.command(ADMIN, "CJA", "bases new ハンドブック")
    _, _, added = await share(run, HANAKO, "CJA", "これをハンドブックに追加して", "規則.pdf", RULES)
    assert "規則.pdf: " in added
    assert "ハンドブック" in added
    assert "2ページ" in added
    question = "育児休暇は何週間ですか？"
    answer = await run.mention(HANAKO, "CJA", question)
    assert "二十六週間" in answer
    assert "規則.pdf、2ページ" in answer
    number = await number_of(run, HANAKO, "CJA", "規則.pdf")
    await run.command(HANAKO, "CJA", f"文書 削除 {number} --yes")
    assert "二十六週間" not in await run.mention(HANAKO, "CJA", question)


# --- other places, and what cannot be added ---------------------------------------------


async def test_a_private_file_waits_until_its_uploader_agrees_to_who_will_read_it(
    run: SlackRun,
) -> None:
    await run.command(ADMIN, "CWIDE", "bases new ledger")
    said = await share(run, ALICE, "GBOARD", "add this to the ledger", "heron.docx", BUDGET)
    assert said[2] == ""  # others in the channel learn nothing of it
    offer = run.slack.workspace.ephemeral[-1]
    assert offer["user"] == ALICE
    assert "everybody who can read #cwide" in everything(offer)
    question = "What is the budget of the Heron project?"
    assert "ninety" not in await run.mention(BOB, "CWIDE", question)
    await run.slack.click(ALICE, button(offer, "Add it"), channel="GBOARD", message=offer)
    await run.settled()
    answer = await run.mention(BOB, "CWIDE", question)
    assert "ninety thousand" in answer
    assert "heron.docx" in answer
    await run.slack.delete_file(said[1])
    await run.settled()
    assert "ninety" not in await run.mention(BOB, "CWIDE", question)


async def test_what_cannot_be_read_is_said_to_its_uploader_alone(run: SlackRun) -> None:
    await run.command(ADMIN, "CPEOPLE", "bases new handbook")
    _, _, shown = await share(
        run, BOB, "CPEOPLE", "add this to our handbook", "broken.pdf", b"%PDF-1.7 broken"
    )
    assert shown == ""
    told = run.slack.workspace.ephemeral[-1]
    assert told["user"] == BOB
    assert "broken.pdf" in everything(told)
    assert "broken.pdf" not in await run.command(BOB, "CPEOPLE", "sources")
    assert "Traceback" not in run.log_text()

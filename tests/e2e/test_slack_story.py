"""What people do with Oboete in Slack, told to `oboete run` itself over real sockets.

One process serves all of these tests. Each has people and channels of its own, so that none
depends on another.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.e2e.slack_double import SlackDouble
from tests.e2e.slack_run import (
    ME,
    SlackRun,
    button,
    buttons,
    copied,
    everything,
    oboete_run,
)
from tests.e2e.slack_workspace import BOT_USER, Workspace, shown_text

pytestmark = pytest.mark.asyncio(loop_scope="module")

ADMIN = "UADMIN"
ENGLISH = (
    "ALICE",
    "BOB",
    "CAROL",
    "DAVE",
    "ERIN",
    "FRANK",
    "GRACE",
    "HEIDI",
    "IVAN",
    "JUDY",
    "MALLORY",
)
JAPANESE = ("HANAKO", "TARO")
CHANNELS = (
    "ANSWER",
    "THREAD",
    "EDIT",
    "PAUSE",
    "LISTEN",
    "SHORT",
    "RATE",
    "HUSH",
    "AGAIN",
    "JA",
    "TRACES",
    "CLEAR",
)


def workspace() -> Workspace:
    made = Workspace()
    made.add_user(ADMIN, "Admin", admin=True)
    for name in ENGLISH:
        made.add_user(f"U{name}", name.title())
    for name in JAPANESE:
        made.add_user(f"U{name}", name.title(), locale="ja-JP")
    everybody = [ADMIN, *(f"U{name}" for name in (*ENGLISH, *JAPANESE))]
    for name in CHANNELS:
        made.add_channel(f"C{name}", "public", *everybody)
    made.add_channel("CNEW", "public", *everybody).members.discard(BOT_USER)
    return made


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def run(tmp_path_factory: pytest.TempPathFactory, prepared: Path) -> AsyncIterator[SlackRun]:
    folder = copied(prepared, tmp_path_factory.mktemp("story") / "data")
    async with SlackDouble(workspace()) as slack, oboete_run(slack, folder) as running:
        yield running


def posted(run: SlackRun, channel: str) -> list[dict[str, Any]]:
    return run.slack.workspace.answers(channel)


def stored_anywhere(run: SlackRun, words: str) -> bool:
    """Whether the words are in any file of the data folder, in any encoding they may have."""
    escaped = json.dumps(words).strip('"').encode()
    data = run.bytes_on_disk()
    return words.encode() in data or escaped in data


# --- conversations ----------------------------------------------------------------------


@pytest.mark.parametrize("twins", ["mention first", "message first"])
async def test_a_mention_gets_one_answer_in_its_thread(run: SlackRun, twins: str) -> None:
    before = len(posted(run, "CANSWER"))
    ts = await run.say("UALICE", "CANSWER", f"{ME} Our printer is on floor {before}.", twins=twins)
    answers = posted(run, "CANSWER")[before:]
    assert [answer["thread_ts"] for answer in answers] == [ts]
    assert "printer" in shown_text(answers[0])
    assert [b["text"]["text"] for b in buttons(answers[0])] == ["Why?", "👍", "👎"]


async def test_a_thread_goes_on_without_mentions_and_its_beginning_is_not_stored(
    run: SlackRun,
) -> None:
    root = await run.say("UBOB", "CTHREAD", "The zebra crossing is broken again.")
    await run.mention("UALICE", "CTHREAD", "My badge number is 5512.", thread_ts=root)
    await run.say("UALICE", "CTHREAD", "What is my badge number?", thread_ts=root)
    answers = run.slack.workspace.answers("CTHREAD", root)
    assert len(answers) == 2
    assert "5512" in shown_text(answers[-1])
    assert "archives/CTHREAD" in everything(answers[-1])
    assert not stored_anywhere(run, "zebra crossing")


async def test_what_is_said_in_a_direct_message_is_remembered(run: SlackRun) -> None:
    assert "Remembered: My parrot is called Kiwi." in await run.dm(
        "UCAROL", "My parrot is called Kiwi."
    )
    assert "“My parrot is called Kiwi.”" in await run.dm("UCAROL", "What is my parrot called?")


async def test_a_list_is_shown_to_nobody_else(run: SlackRun) -> None:
    await run.dm("UDAVE", "My locker code word is aubergine.")
    before = len(posted(run, "CANSWER"))
    shown = await run.command("UDAVE", "CANSWER", "list")
    assert "aubergine" in shown
    assert run.slack.responses[-1]["response_type"] == "ephemeral"
    assert len(posted(run, "CANSWER")) == before
    assert "aubergine" not in await run.command("UERIN", "CANSWER", "list")


# --- forgetting -------------------------------------------------------------------------


async def test_a_fact_is_forgotten_by_a_modal_on_the_home_tab(run: SlackRun) -> None:
    await run.dm("UERIN", "My favourite dish is moussaka.")
    await run.dm("UERIN", "My bicycle is a Pinarello.")
    assert "moussaka" in await run.home("UERIN")
    home = run.slack.workspace.homes["UERIN"]
    section = next(b for b in home["blocks"] if "moussaka" in json.dumps(b))
    await run.slack.click("UERIN", section["accessory"], view=home)
    await run.confirm("UERIN")
    shown = await run.home("UERIN")
    assert "moussaka" not in shown
    assert "Pinarello" in shown
    assert not stored_anywhere(run, "moussaka")


async def test_nobody_confirms_the_modal_of_somebody_else(run: SlackRun) -> None:
    await run.dm("UFRANK", "My favourite composer is Rameau.")
    await run.home("UFRANK")
    home = run.slack.workspace.homes["UFRANK"]
    section = next(b for b in home["blocks"] if "Rameau" in json.dumps(b))
    await run.slack.click("UFRANK", section["accessory"], view=home)
    await run.until(lambda: run.slack.workspace.modals)
    modal = run.slack.workspace.modals.pop()
    await run.slack.submit("UGRACE", modal)
    await run.settled()
    assert "Rameau" in await run.home("UFRANK")


async def test_an_edited_message_changes_the_fact(run: SlackRun) -> None:
    ts = await run.say("UGRACE", "CEDIT", f"{ME} I live in Nagoya.")
    assert "Nagoya" in await run.command("UGRACE", "CEDIT", "list")
    await run.slack.edit("CEDIT", ts, f"{ME} I live in Sendai.")
    await run.settled()
    shown = await run.command("UGRACE", "CEDIT", "list")
    assert "Sendai" in shown
    assert "Nagoya" not in shown
    assert len(run.slack.workspace.answers("CEDIT", ts)) == 1  # no question: no second answer


async def test_an_edit_that_takes_the_mention_away_changes_the_fact_too(run: SlackRun) -> None:
    ts = await run.say("UHEIDI", "CEDIT", f"{ME} My desk is on floor seven.")
    await run.slack.edit("CEDIT", ts, "My desk is on floor eight.")
    await run.settled()
    shown = await run.command("UHEIDI", "CEDIT", "list")
    assert "seven" not in shown


async def test_an_unfurled_link_changes_nothing(run: SlackRun) -> None:
    ts = await run.say("UIVAN", "CEDIT", f"{ME} My team is called Ospreys.")
    await run.slack.edit("CEDIT", ts, "Preview", unfurl=True)
    await run.settled()
    assert "Ospreys" in await run.command("UIVAN", "CEDIT", "list")


async def test_an_edited_question_is_answered_once_more(run: SlackRun) -> None:
    await run.mention("UJUDY", "CAGAIN", "My mentor is Professor Okafor.")
    ts = await run.say("UJUDY", "CAGAIN", f"{ME} Who is my tailor?")
    await run.slack.edit("CAGAIN", ts, f"{ME} Who is my mentor?")
    await run.settled()
    answers = run.slack.workspace.answers("CAGAIN", ts)
    assert len(answers) == 2
    assert "Okafor" in shown_text(answers[-1])


async def test_a_deleted_message_is_gone_with_its_vectors_and_every_byte(run: SlackRun) -> None:
    await run.dm("UHEIDI", "My sister keeps llamas.")
    text = "My holiday house has a trombone in the attic."
    ts = await run.say("UHEIDI", run.dm_of("UHEIDI"), text)
    await run.dm("UHEIDI", "What is in the attic?")
    rows = run.query("SELECT id FROM message WHERE platform_id = ?", ts)
    facts = run.query("SELECT id FROM fact WHERE text = ?", text)
    owners = [rows[0][0] << 2 | 1, *(id_ << 2 for (id_,) in facts)]
    marks = ",".join("?" * len(owners))

    def left() -> int:
        tables = ("embedding", "posting", "lexical_entry", "embedding_queue")
        counts = [
            run.query(f"SELECT count(*) FROM {table} WHERE owner IN ({marks})", *owners)
            for table in tables
        ]
        return sum(int(count[0][0]) for count in counts)

    assert facts
    await run.until(
        lambda: (
            run.query(f"SELECT count(*) FROM embedding WHERE owner IN ({marks})", *owners)[0][0]
            == len(owners)
        )
    )
    await run.slack.delete(run.dm_of("UHEIDI"), ts)
    await run.settled()
    assert left() == 0
    assert "trombone" not in await run.command("UHEIDI", run.dm_of("UHEIDI"), "list")
    assert not stored_anywhere(run, "trombone")
    assert stored_anywhere(run, "llamas")


async def test_the_bot_s_own_posts_about_what_was_forgotten_can_be_deleted(run: SlackRun) -> None:
    await run.mention("UJUDY", "CTRACES", "My bicycle is from Utrecht.")
    asked = await run.mention("UJUDY", "CTRACES", "Where is my bicycle from?")
    assert "Utrecht" in asked
    await run.command("UJUDY", "CTRACES", "forget bicycle --yes")
    receipt = run.slack.responses[-1]
    label = next(b["text"]["text"] for b in buttons(receipt) if "Delete" in b["text"]["text"])
    shown = await run.press("UJUDY", "CTRACES", receipt | {"ts": "1.1"}, label)
    assert "Deleted: 2 posts." in shown
    assert posted(run, "CTRACES") == []


# --- places -----------------------------------------------------------------------------


async def test_it_says_once_what_it_stores_when_it_joins(run: SlackRun) -> None:
    await run.slack.join(BOT_USER, "CNEW")
    await run.settled()
    await run.slack.leave(BOT_USER, "CNEW")
    await run.slack.join(BOT_USER, "CNEW")
    await run.settled()
    greetings = [shown_text(answer) for answer in posted(run, "CNEW")]
    assert len(greetings) == 1
    assert "/memory pause" in greetings[0]


async def test_nothing_is_stored_in_a_paused_channel_and_everybody_sees_why(run: SlackRun) -> None:
    await run.command("UALICE", "CPAUSE", "pause")
    assert "Paused" in shown_text(posted(run, "CPAUSE")[-1])
    await run.mention("UALICE", "CPAUSE", "My umbrella is turquoise.")
    assert not run.query("SELECT 1 FROM message WHERE text LIKE '%turquoise%'")
    await run.command("UALICE", "CPAUSE", "resume")
    await run.mention("UALICE", "CPAUSE", "My raincoat is vermilion.")
    assert run.query("SELECT 1 FROM fact WHERE text LIKE '%vermilion%'")


async def test_words_of_somebody_who_paused_are_kept_nowhere(run: SlackRun) -> None:
    await run.command("UIVAN", "CPAUSE", "pause me")
    await run.dm("UIVAN", "My piano teacher is Ms Dubois.")
    assert not run.query("SELECT 1 FROM message WHERE text LIKE '%Dubois%'")
    await run.command("UIVAN", "CPAUSE", "resume me")


async def test_listening_is_an_admin_s_choice_that_everybody_sees(run: SlackRun) -> None:
    await run.say("UBOB", "CLISTEN", "My heron is called Stilts.")
    assert "Only an admin" in await run.command("UBOB", "CLISTEN", "listen on")
    assert not posted(run, "CLISTEN")
    await run.command(ADMIN, "CLISTEN", "listen on")
    assert "everything people say" in shown_text(posted(run, "CLISTEN")[-1])
    await run.say("UBOB", "CLISTEN", "My otter is called Paddle.")
    assert len(posted(run, "CLISTEN")) == 1  # it listens, and does not answer
    shown = await run.command("UBOB", "CLISTEN", "list")
    assert "Paddle" in shown
    assert "Stilts" not in shown
    await run.command(ADMIN, "CLISTEN", "listen off")


async def test_a_person_s_stop_is_heeded_until_the_next_mention(run: SlackRun) -> None:
    root = await run.say("UBOB", "CHUSH", f"{ME} My kayak is yellow.")
    await run.say("UALICE", "CHUSH", "stop", thread_ts=root)
    quiet = len(posted(run, "CHUSH"))
    await run.say("UBOB", "CHUSH", "My canoe is mauve.", thread_ts=root)
    assert len(posted(run, "CHUSH")) == quiet
    assert not run.query("SELECT 1 FROM message WHERE text LIKE '%mauve%'")
    assert "yellow" in await run.mention("UBOB", "CHUSH", "Which kayak do I have?", thread_ts=root)


# --- shortcuts, files, feedback, languages ----------------------------------------------


async def test_a_message_is_remembered_and_forgotten_by_its_shortcuts(run: SlackRun) -> None:
    ts = await run.say("UCAROL", "CSHORT", "The fire drill meets at the fountain.")
    await run.slack.shortcut("UDAVE", "oboete_remember", "CSHORT", ts)
    await run.settled()
    assert "fountain" in await run.command("UDAVE", "CSHORT", "search fire drill")
    await run.slack.shortcut("UCAROL", "oboete_forget", "CSHORT", ts)
    await run.confirm("UCAROL")
    assert "fountain" not in await run.command("UDAVE", "CSHORT", "search fire drill")
    assert not stored_anywhere(run, "fountain")


async def test_an_export_comes_as_a_file_in_the_direct_message(run: SlackRun) -> None:
    await run.dm("UFRANK", "My umbrella stand is from Lisbon.")
    await run.command("UFRANK", "CANSWER", "export")
    shared = run.slack.workspace.shared_files[-1]
    assert shared["channel_id"] == run.dm_of("UFRANK")
    data = json.loads(run.slack.workspace.uploads[shared["files"][0]["id"]])
    assert data["person"] == "slack:T1:UFRANK"
    assert "My umbrella stand is from Lisbon." in [fact["text"] for fact in data["facts"]]


async def test_feedback_is_stored_on_the_trace_and_why_explains(run: SlackRun) -> None:
    await run.mention("UGRACE", "CRATE", "My telescope is a Dobsonian.")
    ts = await run.say("UGRACE", "CRATE", f"{ME} Which telescope do I have?")
    (answer,) = run.slack.workspace.answers("CRATE", ts)
    trace = button(answer, "👍")["value"].split()[1]

    def rating() -> object:
        return run.query("SELECT rating FROM trace WHERE id = ?", int(trace))[0][0]

    assert "Dobsonian" in await run.press("UGRACE", "CRATE", answer, "Why?")
    await run.press("UBOB", "CRATE", answer, "👍")
    assert rating() is None  # only who asked can judge
    await run.press("UGRACE", "CRATE", answer, "👍")
    assert rating() == 1
    await run.slack.react("UGRACE", "CRATE", answer["ts"], "-1")
    await run.settled()
    assert rating() == -1


async def test_japanese_is_answered_in_japanese(run: SlackRun) -> None:
    assert "覚えました：私は札幌に住んでいます。" in await run.mention(
        "UHANAKO", "CJA", "私は札幌に住んでいます。"
    )
    answer = await run.mention("UHANAKO", "CJA", "私はどこに住んでいますか？")
    assert "「私は札幌に住んでいます。」" in answer
    assert "なぜ?" in answer
    assert "札幌" in await run.command("UHANAKO", "CJA", "一覧")
    assert "あなたについてはまだ何も知りません。" in await run.command("UTARO", "CJA", "list")
    await run.dm("UTARO", "猫の名前はモモだと覚えておいて")
    assert "モモ" in await run.home("UTARO")
    await run.dm("UTARO", "モモのことは忘れて")
    assert "モモ" not in await run.home("UTARO")


async def test_the_log_names_nobody_s_words(run: SlackRun) -> None:
    await run.dm("UBOB", "My rowing club is called Kingfisher.")
    await run.command("UBOB", "CANSWER", "search Kingfisher")
    assert "Kingfisher" not in run.log_text()
    assert "Traceback" not in run.log_text()


async def test_complaint_13_forgetting_everything_leaves_no_vector_behind(run: SlackRun) -> None:
    held = (
        "SELECT count(*) FROM embedding e JOIN audience a ON a.id = e.audience_id"
        " WHERE a.name LIKE '%CCLEAR' OR a.name LIKE '%DMALLORY'"
    )
    waiting = held.replace("embedding e", "embedding_queue e")
    for fruit in ("loquats", "medlars", "びわ"):
        await run.mention("UMALLORY", "CCLEAR", f"I like {fruit}.")
    await run.until(lambda: run.query(waiting)[0][0] == 0)
    assert run.query(held)[0][0] > 0
    shown = await run.command("UMALLORY", "CCLEAR", "forget everything --yes")
    assert "Forgotten" in shown
    assert run.query(held)[0][0] == 0
    assert run.query(waiting)[0][0] == 0
    assert "loquats" not in await run.command("UMALLORY", "CCLEAR", "search loquats")

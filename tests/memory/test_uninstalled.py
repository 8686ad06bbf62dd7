"""Where Oboete was uninstalled nothing is read any more, and after 30 days nothing is left."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from sqlmodel import Session

from bot.backup import Backups
from bot.mcp_tools import PersonalTools
from bot.messages import Reply
from memory import backup, consolidation, transfer
from memory.access import Access
from memory.data_sources import DataSources
from memory.errors import NotPermitted
from memory.knowledge import Knowledge, NewSource
from memory.long_term import Actor
from memory.reading import Document, MediaType, Page, ReadingLimits
from memory.store import database as db
from memory.store import inbox, reminders, summaries
from memory.store.database import Database
from memory.store.places import Preferences
from memory.store.reminders import NewReminder
from memory.tables import FactRow
from memory.types import Audience, Kind, Person, Readable, Ref
from memory.uninstalled import Uninstalled
from tests.fakes import FakeEmbedder, Mind, bytes_of, encodings, new_message

MIA = Person("slack", "T1", "UMIA")
MIA_ELSEWHERE = Person("slack", "T2", "UMIA2")
GONE = Audience("slack", "T1", "C-gone")
GONE_DM = Audience("slack", "T1", "D-mia")
KEPT = Audience("slack", "T2", "C-kept")
ALIKE = Audience("slack", "T11", "C-alike")
BOTH = Readable.of(GONE, GONE_DM, KEPT, ALIKE)
SECRETS = (
    "quetzalcoatl", "カワセミ", "Wyvernholm", "ウミガラス", "Basilisk", "remembranza", "ツチノコ",
)  # fmt: skip
"""One word for each way in which something of the tenant is stored."""


async def read_text(data: bytes, name: str, _limits: ReadingLimits) -> Document:
    return Document(Path(name).stem, MediaType.PDF, (Page(1, (), data.decode()),))


@pytest.fixture
def knowledge(mind: Mind) -> Knowledge:
    return Knowledge(
        mind.database, mind.embedding, mind.ledger, mind.clock, lambda t: len(t) // 3 + 1,
        read=read_text,
    )  # fmt: skip


@pytest.fixture
def uninstalled(mind: Mind, knowledge: Knowledge) -> Uninstalled:
    return Uninstalled(
        mind.database, mind.directory, mind.embedding, knowledge, mind.ledger, mind.clock
    )


@pytest.fixture
async def stored(mind: Mind, knowledge: Knowledge) -> None:
    """Something of every kind in T1, and a little in other tenants."""
    mine = {"author": MIA, "audience": GONE}
    cat = await mind.state("My cat is called quetzalcoatl", said=mine, speaker=MIA, subject=MIA)
    await mind.state(
        "飼っている鳥はカワセミです", said=mine, speaker=MIA, subject=MIA, language="ja"
    )
    await mind.hear("Wyvernholm is where we meet", learn=True, **mine)
    await mind.reply("Your cat: quetzalcoatl", [Ref(Kind.FACT, cat.id)], asker=MIA, audience=GONE)
    there = {"author": MIA_ELSEWHERE, "audience": KEPT}
    await mind.state(
        "My dog is called Rex", said=there, speaker=MIA_ELSEWHERE, subject=MIA_ELSEWHERE
    )
    await mind.state("犬が好きです", said=there, speaker=MIA_ELSEWHERE, subject=MIA_ELSEWHERE)
    await mind.hear("Rex barks", author=MIA_ELSEWHERE, audience=ALIKE)
    # a reply elsewhere that was made from what was said there
    await mind.reply("I know of quetzalcoatl", [Ref(Kind.FACT, cat.id)], audience=KEPT)
    base = await knowledge.ensure_base("ウミガラス", GONE, MIA)
    await knowledge.add(base, NewSource("F1", "Basilisk.pdf", MIA), b"The Basilisk sleeps at noon.")
    await DataSources(mind.database, mind.clock).register(
        "Basilisk figures", f"sqlite:///{mind.database.path}", GONE, MIA
    )
    await mind.directory.set_preferences(MIA, Preferences(locale="ja"))
    await mind.directory.change_place(GONE, listen=True, greeted=True)

    def more(session: Session) -> None:
        waiting = {"text": "Wyvernholm 未処理"}
        inbox.commit(session, "slack", "T1", "d1", waiting, mind.clock())
        for place, words in ((GONE, "remembranza"), (KEPT, "remembranza too")):
            wish = NewReminder(
                MIA, "mia", place, "c", f"m{words}", reminders.Kind.REMINDER, words, {},
                "UTC", "en", mind.clock() + timedelta(days=1),
            )  # fmt: skip
            reminders.add(session, wish, mind.clock())
        summaries.put(
            session, GONE, summaries.About.PERSON, str(MIA), "ツチノコ", "model",
            [summaries.Source(Ref(Kind.FACT, cat.id), key_of(session, cat.id))], mind.clock(),
        )  # fmt: skip

    await mind.database.write(more)
    await mind.embedding.drain()


def key_of(session: Session, fact_id: int) -> bytes:
    return session.get_one(FactRow, fact_id).text_key


async def lock(mind: Mind) -> None:
    mind.clock.advance(minutes=1)
    await mind.directory.lock_tenant("slack", "T1", mind.clock())


async def everything_readable(mind: Mind, knowledge: Knowledge) -> str:
    """Whatever any of the reads gives to one who could read all of these places."""
    memory = mind.memory
    found: list[object] = []
    for question in ("What is my cat called?", "飼っている鳥は？", "Basilisk", "Wyvernholm"):
        found += await memory.recall(question, BOTH, 20)
    for person in (MIA, MIA_ELSEWHERE):
        found += await memory.facts_about(person, BOTH, past=True)
        found += await memory.messages_of(person, BOTH)
        found.append(await memory.trace(person, GONE, None))
    found += await memory.facts_by_id(range(50), BOTH)
    found += await memory.history("talk", BOTH, 50)
    found += await memory.waiting()
    found += await memory.next_to_recheck("slack", 50)
    found += await knowledge.bases(BOTH)
    found += await knowledge.sources(BOTH)
    found += (await memory.chunks_by_id(range(50), BOTH)).values()
    found += await DataSources(mind.database, mind.clock).listed(BOTH)
    found += (await memory.names([MIA, MIA_ELSEWHERE], BOTH)).items()

    def by_sql(session: Session) -> list[object]:
        later = mind.clock() + timedelta(days=9)
        return [
            *summaries.get(session, summaries.About.PERSON, str(MIA), BOTH),
            *reminders.due(session, later),
            *reminders.of_person(session, MIA, GONE),
            *consolidation.places_to_visit(session),
            *(
                line
                for line in transfer.lines(session, "slack", "T1", later)
                if line["type"] in {"message", "fact"}
            ),
        ]

    found += await mind.database.read(by_sql)
    return repr(found)


@pytest.mark.usefixtures("stored")
async def test_nothing_of_a_locked_tenant_is_read_and_all_of_others(
    mind: Mind, knowledge: Knowledge
) -> None:
    before = await everything_readable(mind, knowledge)
    assert all(word in before for word in SECRETS)
    await lock(mind)
    after = await everything_readable(mind, knowledge)
    assert [word for word in SECRETS if word in after.replace("remembranza too", "")] == []
    assert str(GONE.name) not in after
    assert "Rex" in after
    assert "犬が好きです" in after
    assert "C-alike" in after


@pytest.mark.usefixtures("stored")
async def test_a_token_of_a_locked_tenant_opens_nothing_and_one_of_another_not_its_places(
    mind: Mind,
) -> None:
    access = Access(mind.database, mind.clock)
    gone, kept = await access.issue(MIA, ""), await access.issue(MIA_ELSEWHERE, "")

    async def run(_person: Person, _text: str) -> Reply:
        return Reply("")

    async def readable(_person: Person) -> Readable:
        return BOTH

    def tools(token: str) -> PersonalTools:
        return PersonalTools(access, mind.memory, run, readable, token)

    assert "quetzalcoatl" in str(await tools(kept).search("cat quetzalcoatl", 20))
    await lock(mind)
    assert await access.owner(gone) is None
    found = str(await tools(kept).search("cat quetzalcoatl カワセミ Rex", 20))
    assert "Rex" in found
    assert not any(word in found for word in SECRETS)


@pytest.mark.usefixtures("stored")
async def test_people_and_admins_forget_in_a_locked_tenant(mind: Mind) -> None:
    (cat, *_) = await mind.memory.facts_about(MIA, BOTH)
    await lock(mind)
    with pytest.raises(NotPermitted):
        await mind.memory.forget([cat.id], Actor(MIA_ELSEWHERE), BOTH)
    receipt = await mind.memory.forget([cat.id], Actor(MIA), BOTH)
    assert receipt.facts == 1
    assert len(receipt.replies) == 2
    assert await mind.problems() == []
    assert (await mind.memory.forget_person(MIA)).facts == 1
    assert await mind.problems() == []
    admin = Actor(Person("slack", "T1", "UADMIN"), is_admin=True)
    await mind.hear("Wyvernholm again", audience=GONE, author=MIA)
    assert (await mind.memory.forget_place(GONE, admin)).messages > 0
    assert await mind.problems() == []


@pytest.mark.usefixtures("stored")
async def test_a_fact_is_stored_once_in_a_locked_place(mind: Mind) -> None:
    await lock(mind)
    said = {"author": MIA, "audience": GONE}
    again = "My cat is called quetzalcoatl"
    await mind.state(again, said=said, speaker=MIA, subject=MIA)
    await mind.memory.hear(new_message("same id", platform_id="x", **said), learn=False)
    await mind.memory.hear(
        new_message("同じID", platform_id="x", revision="2", **said), learn=False
    )
    await mind.directory.unlock_tenant("slack", "T1")
    known = [fact for fact in await mind.memory.facts_about(MIA, BOTH) if fact.text == again]
    assert [fact.confirmed for fact in known] == [2]
    assert await mind.problems() == []


@pytest.mark.usefixtures("stored")
async def test_what_comes_back_in_time_has_all_it_had(
    mind: Mind, knowledge: Knowledge, uninstalled: Uninstalled
) -> None:
    before = await everything_readable(mind, knowledge)
    await lock(mind)
    await uninstalled.welcome("slack", "T1", mind.clock() - timedelta(seconds=1))
    await uninstalled.welcome("slack", "T2", mind.clock() + timedelta(seconds=1))
    assert mind.directory.is_locked("slack", "T1"), "what came late is no return"
    mind.clock.advance(days=29)
    assert await uninstalled.erase_due() == {"tenants": 0, "messages": 0, "facts": 0}
    await mind.directory.lock_tenant("slack", "T1", mind.clock())
    mind.clock.advance(hours=23)
    await uninstalled.welcome("slack", "T1", mind.clock())
    assert await mind.directory.locked_since("slack", "T1") is None
    after = await everything_readable(mind, knowledge)
    assert [after.count(word) for word in SECRETS] == [before.count(word) for word in SECRETS]
    mind.clock.advance(days=40)
    assert (await uninstalled.erase_due())["tenants"] == 0


@pytest.mark.usefixtures("stored")
async def test_after_thirty_days_no_byte_is_left(
    mind: Mind, knowledge: Knowledge, uninstalled: Uninstalled
) -> None:
    assert mind.database.path is not None
    words = encodings([*SECRETS, "未処理"]) | {"place": b"C-gone", "person": b"T1:UMIA"}
    await Access(mind.database, mind.clock).issue(MIA, "")
    await lock(mind)
    held = bytes_of(mind.database.path.parent)
    assert [name for name, form in words.items() if form in held and "escaped" not in name]
    mind.clock.advance(days=30)
    counts = await uninstalled.erase_due()
    assert counts["tenants"] == 1
    assert counts["facts"] == 2
    left = bytes_of(mind.database.path.parent)
    assert [name for name, form in words.items() if form in left] == []
    assert await mind.problems() == []
    assert "Rex" in await everything_readable(mind, knowledge)
    assert (await uninstalled.erase_due())["tenants"] == 0
    assert not mind.directory.listens(GONE)
    # what is said there from now on is new
    await mind.state("My cat is called Tom", said={"author": MIA, "audience": GONE})
    assert "Tom" in str(await mind.memory.recall("cat Tom", Readable.of(GONE), 5))
    assert await mind.problems() == []


@pytest.mark.usefixtures("stored")
async def test_who_comes_back_too_late_begins_anew_at_once(
    mind: Mind, knowledge: Knowledge, uninstalled: Uninstalled
) -> None:
    await lock(mind)
    mind.clock.advance(days=31)
    await uninstalled.welcome("slack", "T1", mind.clock())
    assert not mind.directory.is_locked("slack", "T1")
    left = (await everything_readable(mind, knowledge)).replace("remembranza too", "")
    assert [word for word in SECRETS if word in left] == []
    await mind.state("新しい猫はタマです", said={"author": MIA, "audience": GONE}, language="ja")
    assert await mind.memory.recall("タマ", Readable.of(GONE), 5)
    assert await mind.problems() == []


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("locked_in_backup", [False, True])
async def test_a_restored_backup_is_erased_of_the_tenant_too(
    mind: Mind, uninstalled: Uninstalled, tmp_path: Path, locked_in_backup: bool
) -> None:
    backups = Backups(mind.database, mind.ledger, tmp_path / "b", 4, mind.clock)
    if locked_in_backup:
        await lock(mind)
    made = (await backups.make()).path
    if not locked_in_backup:
        await lock(mind)
    mind.clock.advance(days=30)
    await uninstalled.erase_due()
    # a second life, of which a later backup holds something
    await mind.state("私は蕎麦が好きです", said={"author": MIA, "audience": GONE}, language="ja")
    mind.clock.advance(minutes=1)
    later = (await backups.make()).path
    for number, path in enumerate((made, later)):
        target = tmp_path / f"r{number}"
        ledger = mind.database.path.parent if mind.database.path else tmp_path
        with backup.restoring(path, target / "oboete.db", ledger) as partial:
            copied = Database(f"sqlite:///{partial}")
            await copied.write(lambda s: backup.reapply(s, mind.ledger, mind.clock()))
            await copied.checkpoint()
            copied.close()
        opened = Database(f"sqlite:///{target / 'oboete.db'}")
        other = Mind.over(opened, mind.clock, FakeEmbedder())
        assert await other.problems() == []
        assert await other.database.read(db.integrity) == []
        found = str(await other.memory.facts_about(MIA, BOTH))
        assert ("蕎麦" in found) == (path == later)
        opened.close()
        held = bytes_of(target)
        assert [name for name, form in encodings(SECRETS).items() if form in held] == []


@pytest.mark.usefixtures("stored")
async def test_an_erasure_that_was_cut_short_goes_on_and_no_step_is_long(
    mind: Mind, uninstalled: Uninstalled, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        await mind.hear(f"Wyvernholm {number} ウミガラス", author=MIA, audience=GONE)
    await lock(mind)
    mind.clock.advance(days=30)
    monkeypatch.setattr("memory.uninstalled.BATCH", 4)
    written = mind.database.write
    steps = 0

    async def until_killed(work: object) -> object:
        nonlocal steps
        steps += 1
        if steps == 7:
            raise RuntimeError("killed")
        return await written(work)  # type: ignore[arg-type]

    monkeypatch.setattr(mind.database, "write", until_killed)
    with pytest.raises(RuntimeError):
        await uninstalled.erase_due()
    assert mind.directory.is_locked("slack", "T1")
    assert await mind.problems() == []
    counts = await uninstalled.erase_due()
    assert counts["tenants"] == 1
    assert steps > 12
    assert mind.database.path is not None
    left = bytes_of(mind.database.path.parent)
    assert not any(form in left for form in encodings(SECRETS).values())
    assert await mind.problems() == []


@pytest.mark.usefixtures("stored")
async def test_a_server_s_end_leaves_direct_messages_alone(
    mind: Mind, uninstalled: Uninstalled
) -> None:
    user = Person("discord", "@me", "7")
    dm, server = Audience("discord", "@me", "7"), Audience("discord", "111", "10")
    for place, words in ((dm, "I like figs"), (server, "イチジクが好きです")):
        await mind.state(
            words, said={"author": user, "audience": place}, speaker=user, subject=user
        )
    here = Readable.of(dm, server)
    await mind.directory.lock_tenant("discord", "111", mind.clock())
    assert [f.text for f in await mind.memory.facts_about(user, here)] == ["I like figs"]
    mind.clock.advance(days=31)
    await uninstalled.erase_due()
    assert [f.text for f in await mind.memory.facts_about(user, here)] == ["I like figs"]
    assert await mind.problems() == []


def test_only_the_memory_itself_looks_behind_a_lock() -> None:
    root = Path(__file__).parents[2]
    outside = [*root.joinpath("bot").rglob("*.py"), *root.joinpath("adapters").rglob("*.py")]
    assert len(outside) > 50
    assert [path.name for path in outside if "upkeep" in path.read_text("utf-8")] == []

"""Backup and restore: one moment, proven, and nothing comes back that was forgotten since."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from bot.backup import Backups
from memory import backup
from memory.backup import BackupFailed, RestoreRefused
from memory.errors import StoreUnavailable
from memory.long_term import Actor
from memory.store.database import Database
from memory.types import Readable
from tests.fakes import GENERAL, HANAKO, TARO, TARO_DM, FakeEmbedder, Mind, bytes_of, new_fact

HERE = Readable.of(TARO_DM, GENERAL)


def backups(mind: Mind, folder: Path, keep: int = 4) -> Backups:
    return Backups(mind.database, mind.ledger, folder, keep, mind.clock)


def folder_of(mind: Mind) -> Path:
    """Where its database and its ledger are."""
    assert mind.database.path is not None
    return mind.database.path.parent


def restore(copy: Path, target: Path, ledger: Path) -> None:
    """As it is, for what nothing was forgotten of."""
    with backup.restoring(copy, target, ledger):
        pass


@asynccontextmanager
async def restored(mind: Mind, path: Path, target: Path) -> AsyncIterator[Mind]:
    """The backup in a folder of its own, with what was forgotten since taken out again."""
    with backup.restoring(path, target / "oboete.db", folder_of(mind)) as partial:
        database = Database(f"sqlite:///{partial}")
        await database.write(lambda s: backup.reapply(s, mind.ledger, mind.clock()))
        database.close()
    database = Database(f"sqlite:///{target / 'oboete.db'}")
    other = Mind.over(database, mind.clock, FakeEmbedder())
    await other.embedding.open()
    await database.checkpoint()
    yield other
    database.close()


async def test_a_restored_backup_has_the_same_facts_and_answers(mind: Mind, tmp_path: Path) -> None:
    await mind.state("I live in Osaka", attribute="home")
    await mind.state("猫が好きです", said={"audience": GENERAL}, language="ja")
    made = await backups(mind, tmp_path / "b").make()
    async with restored(mind, made.path, tmp_path / "there") as other:
        assert await other.problems() == []
        assert await other.memory.facts_about(TARO, HERE) == await mind.memory.facts_about(
            TARO, HERE
        )
        for question in ("where do I live?", "猫"):
            assert await other.memory.recall(question, HERE, 5) == await mind.memory.recall(
                question, HERE, 5
            )


async def test_what_was_forgotten_after_the_backup_is_gone_to_the_last_byte(
    mind: Mind, tmp_path: Path
) -> None:
    secret = await mind.state("My locker is zanzibar")
    await mind.state("I live in Osaka", attribute="home")
    gone = await mind.hear("quetzalcoatl, please delete me", platform_id="gone")
    await mind.state("Hanako plays the theremin", said={"author": HANAKO, "audience": GENERAL})
    made = await backups(mind, tmp_path / "b").make()
    await mind.memory.forget([secret.id], Actor(TARO), HERE)
    await mind.memory.source_deleted(TARO_DM, gone.platform_id)
    await mind.memory.forget_person(HANAKO)
    async with restored(mind, made.path, tmp_path / "there") as other:
        assert await other.problems() == []
        assert [f.text for f in await other.memory.facts_about(TARO, HERE)] == ["I live in Osaka"]
        there = bytes_of(tmp_path / "there")
        for word in (b"zanzibar", b"quetzalcoatl", b"theremin"):
            assert word not in there
        assert b"Osaka" in there


async def test_words_forgotten_from_a_message_of_which_others_went_before_the_backup(
    mind: Mind, tmp_path: Path
) -> None:
    """The second forgetting adds no new tombstone; the ledger's position tells it apart."""

    message = await mind.hear("I like zanzibar. I like quetzals.")
    first, second = await mind.memory.remember(
        [new_fact(message, "I like zanzibar"), new_fact(message, "I like quetzals")]
    )
    await mind.memory.forget([first.fact.id], Actor(TARO), HERE)
    made = await backups(mind, tmp_path / "b").make()
    await mind.memory.forget([second.fact.id], Actor(TARO), HERE)
    async with restored(mind, made.path, tmp_path / "there") as other:
        assert await other.memory.facts_about(TARO, HERE, past=True) == []
        assert b"quetzals" not in bytes_of(tmp_path / "there")


async def test_what_was_forgotten_before_the_backup_takes_nothing_more_with_it(
    mind: Mind, tmp_path: Path
) -> None:

    message = await mind.hear("I like zanzibar. I like quetzals.")
    first, _ = await mind.memory.remember(
        [new_fact(message, "I like zanzibar"), new_fact(message, "I like quetzals")]
    )
    await mind.memory.forget([first.fact.id], Actor(TARO), HERE)
    made = await backups(mind, tmp_path / "b").make()
    async with restored(mind, made.path, tmp_path / "there") as other:
        assert [f.text for f in await other.memory.facts_about(TARO, HERE)] == ["I like quetzals"]


async def test_an_undone_forget_is_not_applied_again(mind: Mind, tmp_path: Path) -> None:
    fact = await mind.state("I live in Osaka", attribute="home")
    made = await backups(mind, tmp_path / "b").make()
    receipt = await mind.memory.forget([fact.id], Actor(TARO), HERE)
    await mind.memory.restore(receipt)
    async with restored(mind, made.path, tmp_path / "there") as other:
        assert [f.text for f in await other.memory.facts_about(TARO, HERE)] == ["I live in Osaka"]


async def test_forgetting_again_after_the_restore_does_not_revive_the_value_before(
    mind: Mind, tmp_path: Path
) -> None:
    await mind.state("I live in Osaka", attribute="home")
    mind.clock.advance(days=1)
    new = await mind.state("I live in Kyoto", attribute="home")
    made = await backups(mind, tmp_path / "b").make()
    await mind.memory.forget([new.id], Actor(TARO), HERE)
    async with restored(mind, made.path, tmp_path / "there") as other:
        assert await other.memory.facts_about(TARO, HERE) == []
        assert await other.problems() == []


async def test_a_backup_under_load_is_whole(mind: Mind, tmp_path: Path) -> None:
    stop = asyncio.Event()

    async def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            await mind.state(f"number {number} is written")

    writer = asyncio.create_task(write())
    made: list[Path] = []
    for _ in range(3):
        await asyncio.sleep(0.2)
        made.append((await backups(mind, tmp_path / "b").make(tmp_path / f"{len(made)}.db")).path)
    stop.set()
    await writer
    for number, path in enumerate(made):
        async with restored(mind, path, tmp_path / f"there{number}") as other:
            assert await other.problems() == []
            facts = await other.memory.facts_about(TARO, HERE)
            assert [fact.text for fact in facts] == [
                f"number {n} is written" for n in range(1, len(facts) + 1)
            ]


async def test_rotation_keeps_the_newest(mind: Mind, tmp_path: Path) -> None:
    keeper = backups(mind, tmp_path / "b", keep=2)
    assert keeper.expires() is None
    for _ in range(4):
        await keeper.make()
        mind.clock.advance(days=7)
    assert [path.name for path in backup.backups(tmp_path / "b")] == [
        "oboete-20260316T120000Z.backup.db",
        "oboete-20260323T120000Z.backup.db",
    ]
    expires = keeper.expires()
    assert expires is not None
    assert (expires - mind.clock()).days == 14


@pytest.mark.parametrize("onto", ["a file", "a backup", "the database", "a folder"])
async def test_a_backup_replaces_nothing(mind: Mind, tmp_path: Path, onto: str) -> None:
    await mind.hear("大阪に住んでいます")
    keeper = backups(mind, tmp_path / "b")
    file = tmp_path / "thesis.txt"
    file.write_text("precious")
    database = folder_of(mind) / "oboete.db"
    target = {
        "a file": file,
        "a backup": (await keeper.make()).path,
        "the database": database,
        "a folder": tmp_path,
    }[onto]
    before = (target.stat().st_ino, [] if target == tmp_path else target.read_bytes())
    with pytest.raises(BackupFailed, match="already") as caught:
        await keeper.make(target)
    assert str(target) in str(caught.value)
    assert before == (target.stat().st_ino, [] if target == tmp_path else target.read_bytes())
    await mind.hear("I like cats")
    assert [m.text for m in await mind.memory.messages_of(TARO, HERE)] == [
        "大阪に住んでいます",
        "I like cats",
    ]
    mind.clock.advance(days=7)
    assert (await keeper.weekly()) == {"made": 1, "deleted": 0}


async def test_a_damaged_copy_is_no_backup(
    mind: Mind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await mind.state("I live in Osaka")
    real = backup._copy

    def damage(source: Path, target: Path, position: int) -> None:
        real(source, target, position)
        with target.open("r+b") as file:
            file.seek(16384 * 3)
            file.write(b"\xff" * 16384 * 4)

    monkeypatch.setattr(backup, "_copy", damage)
    with pytest.raises((BackupFailed, StoreUnavailable)):
        await backups(mind, tmp_path / "b").make()
    assert list((tmp_path / "b").iterdir()) == []


async def test_a_backup_that_cannot_be_written_leaves_nothing(mind: Mind, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreUnavailable):
        await backups(mind, tmp_path / "file" / "b").make()


def test_nothing_is_restored_over_a_database_or_without_a_ledger(tmp_path: Path) -> None:
    copy = tmp_path / "x.backup.db"
    sqlite3.connect(copy).close()
    copy.touch()
    target = tmp_path / "t" / "oboete.db"
    with pytest.raises(RestoreRefused, match="ledger"):
        restore(copy, target, tmp_path)
    with pytest.raises(RestoreRefused, match="no such backup"):
        restore(tmp_path / "none", target, tmp_path)
    target.parent.mkdir()
    target.touch()
    with pytest.raises(RestoreRefused, match="already"):
        restore(copy, target, tmp_path)


async def test_a_ledger_that_is_there_already_is_not_overwritten(
    mind: Mind, tmp_path: Path
) -> None:
    made = await backups(mind, tmp_path / "b").make()
    target = tmp_path / "there"
    target.mkdir()
    (target / "forgotten.key").write_bytes(b"another installation's")
    with pytest.raises(RestoreRefused, match="ledger already"):
        restore(made.path, target / "oboete.db", folder_of(mind))
    assert [path.name for path in target.iterdir()] == ["forgotten.key"]


@pytest.mark.parametrize("broken", ["words", "no bytes", "another program's", "torn"])
async def test_what_is_no_backup_leaves_the_place_free_for_the_next(
    mind: Mind, tmp_path: Path, broken: str
) -> None:
    await mind.state("大阪に住んでいます", attribute="home", language="ja")
    await mind.state("I like cats")
    made = await backups(mind, tmp_path / "b").make()
    bad = tmp_path / "bad"
    bad.write_bytes(
        {
            "words": "not a database, データベースではない".encode() * 100,
            "no bytes": b"",
            "torn": made.path.read_bytes()[: made.path.stat().st_size // 2],
        }.get(broken, b"")
    )
    if broken == "another program's":
        with closing(sqlite3.connect(bad)) as other:
            other.execute("CREATE TABLE note (words)")
    target = tmp_path / "there" / "oboete.db"
    with pytest.raises(RestoreRefused, match="backup"):
        restore(bad, target, folder_of(mind))
    assert list(target.parent.iterdir()) == []
    async with restored(mind, made.path, target.parent) as other_mind:
        facts = await other_mind.memory.facts_about(TARO, HERE)
        assert {fact.text for fact in facts} == {"大阪に住んでいます", "I like cats"}


@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("keeps", "CREATE TRIGGER keeps AFTER DELETE ON message BEGIN SELECT old.text; END"),
        ("shows", "CREATE VIEW shows AS SELECT text FROM message"),
        ("写し", "CREATE TABLE 写し AS SELECT text FROM message"),
    ],
)
async def test_a_backup_with_parts_that_forgetting_does_not_know_is_refused(
    mind: Mind, tmp_path: Path, name: str, statement: str
) -> None:
    await mind.hear("My locker is zanzibar")
    made = await backups(mind, tmp_path / "b").make()
    with closing(sqlite3.connect(made.path)) as changed:
        changed.execute(statement)
        changed.commit()
    target = tmp_path / "there" / "oboete.db"
    with pytest.raises(RestoreRefused, match=name):
        restore(made.path, target, folder_of(mind))
    assert list(target.parent.iterdir()) == []


async def test_an_error_while_restoring_leaves_nothing(mind: Mind, tmp_path: Path) -> None:
    made = await backups(mind, tmp_path / "b").make()
    target = tmp_path / "there" / "oboete.db"

    def fail() -> None:
        with backup.restoring(made.path, target, folder_of(mind)):
            assert [path.stat().st_mode & 0o077 for path in target.parent.iterdir()] == [0]
            raise StoreUnavailable

    with pytest.raises(StoreUnavailable):
        fail()
    assert list(target.parent.iterdir()) == []


KILLED = """
import os, sys
from pathlib import Path
from memory import backup

made, target, ledger, moment = sys.argv[1:]
with backup.restoring(Path(made), Path(target), Path(ledger)):
    if moment == "before what was forgotten is out":
        os._exit(9)
    real = os.replace

    def replace(source, goal):
        if str(goal) == target:
            os._exit(9)
        real(source, goal)

    os.replace = replace
"""


@pytest.mark.parametrize("moment", ["before what was forgotten is out", "before the last step"])
async def test_a_kill_while_restoring_leaves_no_database_and_the_next_restore_is_whole(
    mind: Mind, tmp_path: Path, moment: str
) -> None:
    secret = await mind.state("My locker is zanzibar")
    made = await backups(mind, tmp_path / "b").make()
    await mind.memory.forget([secret.id], Actor(TARO), HERE)
    target = tmp_path / "there" / "oboete.db"
    code = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, made.path, target, folder_of(mind), moment
    )
    assert await code.wait() == 9
    assert not target.exists()
    # somebody goes on forgetting before it is tried again
    later = await mind.state("合言葉はざんじばる", language="ja")
    await mind.memory.forget([later.id], Actor(TARO), HERE)
    async with restored(mind, made.path, target.parent) as other:
        assert await other.problems() == []
        there = bytes_of(target.parent)
        assert b"zanzibar" not in there
        assert not list(target.parent.glob("*.partial*"))

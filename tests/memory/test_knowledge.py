"""Documents come in whole, are found with their page, and go without a trace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from memory.errors import NotPermitted
from memory.knowledge import READERS, Knowledge, KnowledgeBase, NewSource, Outcome
from memory.reading import (
    Document,
    MediaType,
    Page,
    ReadingLimits,
    Reason,
    UnreadableDocument,
    read_in_subprocess,
)
from memory.types import Audience, Hit, Kind, Person, Readable
from tests.fakes import GENERAL, HANAKO, NOON, SECRET, TARO, TARO_DM, Mind, bytes_of

EVERYWHERE = Readable.of(GENERAL, TARO_DM, SECRET)
PUBLIC = Readable.of(GENERAL, TARO_DM)

HANDBOOK = (
    "Travel expenses are refunded within thirty days after the trip.",
    "在宅勤務は週に三日まで認められる。申請は前日の正午までに提出する。",
    "The alarm code of the office is changed every quarter by Kurosawa.",
)


async def read_pages(data: bytes, name: str, _limits: ReadingLimits) -> Document:
    """Form feeds are page breaks; a file that says BROKEN cannot be read."""
    if b"BROKEN" in data:
        raise UnreadableDocument(Reason.CORRUPT)
    pages = data.decode().split("\f")
    return Document(
        Path(name).stem,
        MediaType.PDF,
        tuple(Page(number, (), text) for number, text in enumerate(pages, start=1)),
    )


@pytest.fixture
def knowledge(mind: Mind) -> Knowledge:
    return made(mind)


def made(mind: Mind, read: Callable[..., object] = read_pages) -> Knowledge:
    return Knowledge(
        mind.database,
        mind.embedding,
        mind.ledger,
        mind.clock,
        lambda text: len(text) // 3 + 1,
        read=read,  # type: ignore[arg-type]
    )


def new(name: str = "handbook.pdf", by: Person = TARO, id_: str = "") -> NewSource:
    return NewSource(id_ or f"file:{name}", name, by)


def pages(*texts: str) -> bytes:
    return "\f".join(texts or HANDBOOK).encode()


async def base_in(knowledge: Knowledge, place: Audience, name: str = "handbook") -> KnowledgeBase:
    return await knowledge.ensure_base(name, place, TARO)


async def chunks(mind: Mind, query: str, readable: Readable = EVERYWHERE) -> list[Hit]:
    return await mind.memory.recall(query, readable, 5, kinds=(Kind.CHUNK,))


# -- taking in -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "page"),
    [("When are travel expenses refunded?", 1), ("在宅勤務は週に何日まで?", 2)],
)
async def test_a_document_is_found_with_file_and_page(
    mind: Mind, knowledge: Knowledge, query: str, page: int
) -> None:
    base = await base_in(knowledge, GENERAL)
    added = await knowledge.add(base, new(), pages())
    await mind.embedding.drain()
    best = (await chunks(mind, query))[0]
    assert added.outcome is Outcome.NEW
    assert best.chunk is not None
    assert (best.chunk.source, best.chunk.page, best.chunk.base_id) == (
        "handbook.pdf",
        page,
        base.id,
    )
    assert best.text == HANDBOOK[page - 1]
    assert await mind.problems() == []


async def test_words_find_a_document_before_it_has_vectors(
    mind: Mind, knowledge: Knowledge
) -> None:
    await knowledge.add(await base_in(knowledge, GENERAL), new(), pages())
    mind.embedder.away = True
    assert (await chunks(mind, "alarm code Kurosawa"))[0].text == HANDBOOK[2]


async def test_what_is_stored_of_a_document(mind: Mind, knowledge: Knowledge) -> None:
    base = await base_in(knowledge, GENERAL)
    await knowledge.add(base, new(by=HANAKO), pages())
    (source,) = await knowledge.sources(EVERYWHERE)
    assert (source.name, source.media_type, source.size) == (
        "handbook.pdf",
        "application/pdf",
        len(pages()),
    )
    assert (source.pages, source.chunks, source.added_by, source.added_at) == (3, 3, HANAKO, NOON)
    assert (source.audience, source.base) == (GENERAL, "handbook")


async def test_an_unchanged_file_is_skipped(mind: Mind, knowledge: Knowledge) -> None:
    base = await base_in(knowledge, GENERAL)
    first = await knowledge.add(base, new(), pages())
    again = await knowledge.add(base, new("copy.pdf"), pages())
    assert again.outcome is Outcome.UNCHANGED
    assert again.source == first.source
    assert len(await knowledge.sources(EVERYWHERE)) == 1


async def test_a_changed_file_takes_the_place_of_its_earlier_state(
    mind: Mind, knowledge: Knowledge
) -> None:
    base = await base_in(knowledge, GENERAL)
    await knowledge.add(base, new(), pages())
    changed = await knowledge.add(base, new(), pages("Travel expenses need two signatures."))
    await mind.embedding.drain()
    assert changed.outcome is Outcome.REPLACED
    assert [source.chunks for source in await knowledge.sources(EVERYWHERE)] == [1]
    assert [hit.text for hit in await chunks(mind, "alarm code Kurosawa")] == [
        "Travel expenses need two signatures."
    ]
    assert await mind.problems() == []


async def test_a_file_that_cannot_be_read_leaves_nothing(mind: Mind, knowledge: Knowledge) -> None:
    base = await base_in(knowledge, GENERAL)
    with pytest.raises(UnreadableDocument):
        await knowledge.add(base, new(), b"BROKEN")
    with pytest.raises(UnreadableDocument):
        await knowledge.add(base, new(), b"")
    assert await knowledge.sources(EVERYWHERE) == []
    assert mind.database.inline("SELECT count(*) FROM chunk") == [(0,)]


async def test_credentials_in_a_document_are_not_stored(mind: Mind, knowledge: Knowledge) -> None:
    secret = "hunter2-Zq81xx"
    base = await base_in(knowledge, GENERAL)
    await knowledge.add(base, new(), pages(f"The password: {secret} opens the staging server."))
    assert mind.database.path is not None
    await mind.database.checkpoint()
    assert secret.encode() not in bytes_of(mind.database.path.parent)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "# 配備 {}\n\nSome text.\n"),
        ("a.html", "<title>Deploy with {}</title><p>本文です。</p>"),
        ("a.html", "<h1>Deploy {}</h1><p>Some text.</p>"),
        ("a.html", "<h1>配備</h1><!-- {} --><p>Only the source shows it.</p>"),
        ("a.txt", "本文 {} です"),
    ],
)
async def test_credentials_are_stored_from_no_part_of_a_document(
    mind: Mind, name: str, text: str
) -> None:
    token = "-".join(("xoxb", "123456789012", "1234567890123", "abcdefghijklmnopqrstuvwx"))
    knowledge = made(mind, read_in_subprocess)
    added = await knowledge.add(
        await base_in(knowledge, GENERAL), new(name), text.format(token).encode()
    )
    assert added.outcome is Outcome.NEW
    assert mind.database.path is not None
    await mind.database.checkpoint()
    assert token.encode() not in bytes_of(mind.database.path.parent)
    assert await mind.problems() == []


async def test_a_page_without_secrets_keeps_its_bytes(mind: Mind) -> None:
    knowledge = made(mind, read_in_subprocess)
    data = "<h1>配備</h1><!-- a note --><p>本文です。</p>".encode()
    await knowledge.add(await base_in(knowledge, GENERAL), new("a.html"), data)
    (source,) = await knowledge.sources(EVERYWHERE)
    assert source.size == len(data)
    assert mind.database.inline("SELECT length(data) FROM source_data") == [(len(data),)]


async def test_few_files_are_read_at_the_same_time(mind: Mind) -> None:
    reading, waiting, most = set[str](), asyncio.Event(), 0

    async def read(data: bytes, name: str, limits: ReadingLimits) -> Document:
        nonlocal most
        reading.add(name)
        most = max(most, len(reading))
        if len(reading) == READERS:
            waiting.set()
        await waiting.wait()
        await asyncio.sleep(0)  # whoever else could begin does so now
        reading.discard(name)
        return await read_pages(data, name, limits)

    knowledge = made(mind, read)
    base = await base_in(knowledge, GENERAL)
    added = await asyncio.gather(
        *(knowledge.add(base, new(f"{n}.pdf"), pages(f"第{n}条 rule {n}")) for n in range(8))
    )
    assert most == READERS
    assert {one.outcome for one in added} == {Outcome.NEW}


async def test_a_file_that_cannot_be_read_makes_room_for_the_next(
    mind: Mind, knowledge: Knowledge
) -> None:
    base = await base_in(knowledge, GENERAL)
    for _ in range(READERS + 1):
        with pytest.raises(UnreadableDocument):
            await knowledge.add(base, new(), b"BROKEN")
    assert (await knowledge.add(base, new(), pages())).outcome is Outcome.NEW


async def test_cutting_that_takes_too_long_ends(
    mind: Mind, knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = await base_in(knowledge, GENERAL)
    moments = count(0, int(ReadingLimits().seconds) // 2)
    clock = SimpleNamespace(monotonic=lambda: next(moments))
    monkeypatch.setattr("memory.knowledge.time", clock)
    with pytest.raises(UnreadableDocument) as caught:
        await knowledge.add(base, new(), pages(*("長い文書 " * 500 for _ in range(4))))
    assert caught.value.reason is Reason.TIMED_OUT
    assert await knowledge.sources(EVERYWHERE) == []


@pytest.mark.parametrize("step", [1, 2])
async def test_a_killed_ingest_goes_on_without_gap_or_duplicate(
    mind: Mind, knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    monkeypatch.setattr("memory.knowledge.STEP", step)
    base = await base_in(knowledge, GENERAL)
    seen: list[int] = []

    def killed(done: int, _total: int) -> None:
        seen.append(done)
        if len(seen) == 2:
            raise KeyboardInterrupt

    texts = [f"page {n}: rule number {n} of the handbook" for n in range(9)]
    with pytest.raises(KeyboardInterrupt):
        await knowledge.add(base, new(), pages(*texts), progress=killed)
    assert 0 < mind.database.inline("SELECT count(*) FROM chunk WHERE findable")[0][0] < 9
    assert await mind.problems() == []
    later = made(mind)
    again = await later.add(base, new(), pages(*texts))
    assert again.outcome is Outcome.UNCHANGED
    await mind.embedding.drain()
    assert mind.database.inline("SELECT count(*), count(DISTINCT number) FROM chunk") == [(9, 9)]
    assert mind.database.inline("SELECT count(*) FROM chunk WHERE NOT findable") == [(0,)]
    assert await mind.problems() == []


async def test_progress_counts_up_to_all_chunks(mind: Mind, knowledge: Knowledge) -> None:
    told: list[tuple[int, int]] = []
    texts = [f"rule number {n}" for n in range(20)]
    await knowledge.add(
        await base_in(knowledge, GENERAL),
        new(),
        pages(*texts),
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == sorted(told)
    assert told[-1] == (20, 20)


# -- privacy -------------------------------------------------------------------------------------


async def test_a_private_document_answers_and_shows_nowhere_else(
    mind: Mind, knowledge: Knowledge
) -> None:
    await knowledge.add(await base_in(knowledge, SECRET), new(), pages())
    await mind.embedding.drain()
    await knowledge.refresh_means()
    assert await chunks(mind, "alarm code Kurosawa", PUBLIC) == []
    assert await mind.memory.recall("alarm code Kurosawa", PUBLIC, 5) == []
    assert await knowledge.sources(PUBLIC) == []
    assert await knowledge.bases(PUBLIC) == []
    assert await knowledge.source_by_id(1, PUBLIC) is None
    assert (await chunks(mind, "alarm code Kurosawa", Readable.of(SECRET)))[0].text == HANDBOOK[2]


async def test_known_elsewhere_is_not_told(mind: Mind, knowledge: Knowledge) -> None:
    """The same bytes in a place that others read are as new here as any."""
    await knowledge.add(await base_in(knowledge, SECRET), new(), pages())
    added = await knowledge.add(await base_in(knowledge, GENERAL), new(), pages())
    assert added.outcome is Outcome.NEW
    assert [base.chunks for base in await knowledge.bases(PUBLIC)] == [3]


async def test_bases_of_one_name_are_apart_by_place(mind: Mind, knowledge: Knowledge) -> None:
    here, there = await base_in(knowledge, GENERAL), await base_in(knowledge, SECRET)
    same = await base_in(knowledge, GENERAL, " ＨＡＮＤＢＯＯＫ ")
    assert here.id != there.id
    assert same.id == here.id
    assert [base.id for base in await knowledge.bases(PUBLIC, name="Handbook")] == [here.id]


async def test_a_private_document_changes_no_score_elsewhere(
    mind: Mind, knowledge: Knowledge
) -> None:
    await knowledge.add(await base_in(knowledge, GENERAL), new(), pages())
    await mind.embedding.drain()
    before = [hit.score for hit in await chunks(mind, "travel expenses", PUBLIC)]
    other = await base_in(knowledge, SECRET)
    await knowledge.add(other, new("b.pdf"), pages("travel expenses", "travel expenses again"))
    await mind.embedding.drain()
    assert [hit.score for hit in await chunks(mind, "travel expenses", PUBLIC)] == before


# -- taking out ----------------------------------------------------------------------------------


async def test_a_removed_document_leaves_no_byte(mind: Mind, knowledge: Knowledge) -> None:
    base = await base_in(knowledge, GENERAL)
    added = await knowledge.add(base, new(), pages())
    await mind.embedding.drain()
    await knowledge.refresh_means()
    assert added.source is not None
    await knowledge.remove(added.source.id, TARO, EVERYWHERE)
    assert mind.database.path is not None
    left = bytes_of(mind.database.path.parent)
    for word in ("Kurosawa", "alarm", "在宅勤務", "expenses"):
        assert word.encode() not in left, word
    for table in ("source", "source_data", "chunk", "posting", "embedding", "knowledge_base_mean"):
        assert mind.database.inline(f"SELECT count(*) FROM {table}") == [(0,)], table
    assert await mind.problems() == []


async def test_only_uploader_and_admin_remove(mind: Mind, knowledge: Knowledge) -> None:
    base = await base_in(knowledge, GENERAL)
    added = await knowledge.add(base, new(), pages())
    assert added.source is not None
    number = added.source.id
    for who, readable in ((HANAKO, EVERYWHERE), (TARO, Readable.of(SECRET))):
        with pytest.raises(NotPermitted):
            await knowledge.remove(number, who, readable)
    with pytest.raises(NotPermitted):
        await knowledge.remove(number + 1, TARO, EVERYWHERE, is_admin=True)
    await knowledge.remove(number, HANAKO, EVERYWHERE, is_admin=True)
    assert await knowledge.sources(EVERYWHERE) == []


async def test_replies_made_from_a_removed_document_go(mind: Mind, knowledge: Knowledge) -> None:
    base = await base_in(knowledge, GENERAL)
    added = await knowledge.add(base, new(), pages())
    (hit, *_) = await chunks(mind, "alarm code Kurosawa")
    asked = await mind.hear("what is the alarm code?")
    reply = await mind.reply("Kurosawa changes it", [hit.ref], asked=asked)
    assert added.source is not None
    receipt = await knowledge.remove(added.source.id, TARO, EVERYWHERE)
    assert [message.id for message in receipt.replies] == [reply.id]
    assert "Kurosawa" not in str(await mind.memory.history("talk", EVERYWHERE, 10))


async def test_a_late_delivery_of_a_removed_file_is_refused_and_a_wish_is_not(
    mind: Mind, knowledge: Knowledge
) -> None:
    base = await base_in(knowledge, GENERAL)
    added = await knowledge.add(base, new(), pages())
    assert added.source is not None
    await knowledge.remove(added.source.id, TARO, EVERYWHERE)
    late = await knowledge.add(base, new(), pages())
    assert (late.outcome, late.source) == (Outcome.FORGOTTEN, None)
    wished = await knowledge.add(base, new(), pages(), again=True)
    assert wished.outcome is Outcome.NEW
    assert await mind.problems() == []


async def test_a_file_deleted_on_the_platform_goes_from_every_base(
    mind: Mind, knowledge: Knowledge
) -> None:
    for place in (GENERAL, SECRET):
        await knowledge.add(await base_in(knowledge, place), new(id_="F1"), pages())
    other = await knowledge.add(await base_in(knowledge, GENERAL), new("b.pdf"), pages("other"))
    assert await knowledge.source_deleted(Audience("slack", "T1", "F1"), "F1") is None
    receipt = await knowledge.source_deleted(TARO_DM, "F1")
    assert receipt is not None
    assert await knowledge.sources(EVERYWHERE) == [other.source]


async def test_a_deleted_message_takes_its_file_along(mind: Mind, knowledge: Knowledge) -> None:
    came_with = NewSource("F1", "a.pdf", TARO, message_id="m77")
    await knowledge.add(await base_in(knowledge, GENERAL), came_with, pages())
    await knowledge.source_deleted(GENERAL, "m77")
    assert await knowledge.sources(EVERYWHERE) == []


async def test_a_killed_removal_is_finished_later(
    mind: Mind, knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = await base_in(knowledge, GENERAL)
    added = await knowledge.add(base, new(), pages())
    assert added.source is not None

    async def killed(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(knowledge, "work_off", killed)
        with pytest.raises(KeyboardInterrupt):
            await knowledge.remove(added.source.id, TARO, EVERYWHERE)
    assert await chunks(mind, "alarm code Kurosawa") == []
    assert await knowledge.sources(EVERYWHERE) == []
    await made(mind).catch_up()
    assert mind.database.inline("SELECT count(*) FROM chunk") == [(0,)]
    assert mind.database.inline("SELECT count(*) FROM source") == [(0,)]
    assert await mind.problems() == []

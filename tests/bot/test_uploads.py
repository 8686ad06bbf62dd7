"""Files in chat: into which base, who will read them, and who has to agree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from bot.commands import Commands
from bot.errors import PlatformRefused
from bot.i18n import translator
from bot.knowledge_commands import KnowledgeCommands
from bot.messages import Attachment, Author, EventKind, IncomingMessage, Reply, Surface
from bot.place_names import PlaceNames
from bot.responder import Responder
from bot.uploads import Uploads, base_named
from memory.knowledge import Knowledge
from memory.types import Audience, Person, Readable
from tests.fakes import GENERAL, HANAKO, SECRET, TARO, TARO_DM, Desk, Mind
from tests.memory.test_knowledge import made, pages

WIDE = Readable.of(GENERAL, TARO_DM, SECRET)


@dataclass
class Shelf:
    """A platform whose files are in memory."""

    files: dict[str, bytes] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    async def download(self, attachment: Attachment, max_bytes: int) -> bytes:
        self.asked.append(attachment.id)
        if attachment.id in self.gone:
            raise PlatformRefused("it is gone")
        return self.files[attachment.id][:max_bytes]


class Room:
    """Says things with files to the core, as different people in different places."""

    def __init__(self, mind: Mind) -> None:
        self.mind = mind
        self.knowledge: Knowledge = made(mind)
        self.shelf = Shelf({"F1": pages(), "F2": b"BROKEN"})
        self.names = PlaceNames()
        self.uploads = Uploads(
            self.knowledge,
            mind.clock,
            max_bytes=1 << 20,
            names=self.names,
            embed=mind.embedding.drain,
        )
        self.uploads.attach({"console": self.shelf, "other": object()})
        self.desk = Desk.over(mind)
        more = {**KnowledgeCommands(self.knowledge, self.names).runs(), **self.uploads.runs()}
        self.desk.commands = Commands(
            mind.memory, mind.directory, self.desk.extractor, mind.clock, more
        )

    def shared(
        self, text: str, place: Audience = GENERAL, file: str = "F1", **changed: Any
    ) -> IncomingMessage:
        attachment = Attachment(file, f"{file}.pdf", "application/pdf", 9, "https://x.example")
        return self.desk.incoming(
            text, **{"audience": place, "readable": WIDE, "attachments": (attachment,), **changed}
        )

    async def share(
        self, text: str, place: Audience = GENERAL, file: str = "F1", **changed: Any
    ) -> Reply | None:
        message = self.shared(text, place, file, **changed)
        return await self.uploads.handle(message, translator(message.locale))

    async def say(self, text: str, **changed: Any) -> None:
        """As it comes from a platform, through the whole core."""
        responder = Responder(
            self.mind.memory,
            self.mind.directory,
            self.desk.commands,
            self.desk.extractor,
            None,
            self.mind.clock,
            answer_tokens=256,
            uploads=self.uploads,
        )
        async for _ in responder.handle(self.shared(text, **changed)):
            pass

    async def command(self, text: str, person: Person = TARO, **changed: Any) -> Reply:
        return await self.desk.command(text, person, **{"readable": WIDE, **changed})

    async def stored(self, readable: Readable = WIDE) -> list[str]:
        return [source.name for source in await self.knowledge.sources(readable)]


@pytest.fixture
def room(mind: Mind) -> Room:
    return Room(mind)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("add this to our handbook", "handbook"),
        ("Please add these files to the team handbook!", "team handbook"),
        ("save this into “Travel rules”", "Travel rules"),
        ("upload it to the handbook knowledge base", "handbook"),
        ("これをハンドブックに追加して", "ハンドブック"),
        ("就業規則に登録してください", "就業規則"),
        ("「旅費」のナレッジに入れて", "旅費"),
        ("what do you think of this?", None),
        ("これはどう思う?", None),
        ("", None),
    ],
)
def test_the_base_is_read_off_plain_words(text: str, name: str | None) -> None:
    assert base_named(text) == name


async def test_a_file_goes_into_the_base_of_its_own_place_at_once(room: Room) -> None:
    await room.knowledge.ensure_base("handbook", GENERAL, TARO)
    reply = await room.share("add this to our handbook")
    assert reply is not None
    assert "F1.pdf" in reply.text
    assert reply.choices == ()
    assert await room.stored() == ["F1.pdf"]


async def test_a_private_file_waits_for_its_uploaders_consent(room: Room) -> None:
    await room.knowledge.ensure_base("handbook", GENERAL, TARO)
    asked = await room.share("これを handbook に追加して", TARO_DM, locale="ja")
    assert asked is not None
    assert "general" in asked.text
    assert asked.private
    assert await room.stored() == []
    (choice,) = asked.choices
    refused = await room.command(choice.command, HANAKO)
    assert await room.stored() == []
    assert "F1" not in refused.text
    agreed = await room.command(choice.command)
    assert "F1.pdf" in agreed.text
    (source,) = await room.knowledge.sources(WIDE)
    assert (source.audience, source.added_by) == (GENERAL, TARO)
    again = await room.command(choice.command)
    assert "F1.pdf" not in again.text


async def test_an_offer_ends_after_an_hour(room: Room) -> None:
    await room.knowledge.ensure_base("handbook", GENERAL, TARO)
    asked = await room.share("add this to handbook", TARO_DM)
    assert asked is not None
    room.mind.clock.advance(minutes=61)
    await room.command(asked.choices[0].command)
    assert await room.stored() == []


async def test_consent_is_worth_nothing_once_the_base_cannot_be_read(room: Room) -> None:
    await room.knowledge.ensure_base("handbook", SECRET, TARO)
    asked = await room.share("add this to handbook", TARO_DM)
    assert asked is not None
    await room.command(asked.choices[0].command, readable=Readable.of(GENERAL, TARO_DM))
    assert await room.stored() == []


async def test_a_base_that_one_cannot_read_is_like_none(room: Room) -> None:
    await room.knowledge.ensure_base("handbook", SECRET, TARO)
    narrow = Readable.of(GENERAL)
    hidden = await room.share("add this to handbook", readable=narrow)
    missing = await room.share("add this to cookbook", readable=narrow)
    assert hidden is not None
    assert missing is not None
    assert hidden.text.replace("handbook", "cookbook") == missing.text


async def test_a_file_that_cannot_be_read_is_explained(room: Room) -> None:
    await room.knowledge.ensure_base("handbook", GENERAL, TARO)
    reply = await room.share("add this to handbook", file="F2")
    assert reply is not None
    assert "damaged" in reply.text
    assert await room.stored() == []


async def test_one_file_that_cannot_be_had_keeps_none_of_the_others_away(room: Room) -> None:
    await room.knowledge.ensure_base("handbook", GENERAL, TARO)
    room.shelf.gone.add("F3")
    files = tuple(
        Attachment(id_, f"{id_}.pdf", "application/pdf", size, "https://x.example")
        for id_, size in (("F3", 9), ("F4", 2 << 20), ("F1", 9))
    )
    reply = await room.share("これを handbook に追加して", attachments=files, locale="ja")
    assert reply is not None
    refused, too_big, added = reply.text.splitlines()
    assert "F3.pdf: it is gone" in refused
    assert "F4.pdf: " in too_big
    assert "大きすぎ" in too_big
    assert room.shelf.asked == ["F3", "F1"]
    assert "handbook" in added
    assert reply.private
    assert await room.stored() == ["F1.pdf"]


async def test_files_without_such_words_are_left_alone(room: Room) -> None:
    await room.knowledge.ensure_base("handbook", GENERAL, TARO)
    assert await room.share("look at this") is None
    assert await room.share("add this to handbook", platform="unknown") is None
    assert await room.stored() == []


async def test_a_place_that_collects_takes_every_file_in_silence(room: Room) -> None:
    base = await room.knowledge.ensure_base("papers", GENERAL, TARO)
    await room.knowledge.collect(base, True)
    reply = await room.share("", addressed=False)
    assert reply is not None
    assert reply.silent
    assert await room.share("", SECRET, addressed=False) is None
    assert await room.stored() == ["F1.pdf"]


@pytest.mark.parametrize("paused", ["", "place", "person"])
async def test_nothing_is_collected_where_or_from_whom_nothing_is_stored(
    room: Room, paused: str
) -> None:
    base = await room.knowledge.ensure_base("papers", GENERAL, TARO)
    await room.knowledge.collect(base, True)
    if paused == "place":
        await room.mind.directory.change_place(GENERAL, paused=True)
    elif paused == "person":
        await room.mind.directory.change_preferences(TARO, paused=True)
    await room.say("", addressed=False)
    assert await room.stored() == ([] if paused else ["F1.pdf"])
    await room.say("これを papers に追加して")  # asked for, it is added
    assert await room.stored() == ["F1.pdf"]


async def test_a_collected_file_that_was_removed_does_not_come_back(room: Room) -> None:
    base = await room.knowledge.ensure_base("papers", GENERAL, TARO)
    await room.knowledge.collect(base, True)
    await room.share("", addressed=False)
    (source,) = await room.knowledge.sources(WIDE)
    await room.command(f"sources remove {source.id} --yes")
    await room.share("", addressed=False)
    assert await room.stored() == []


async def test_a_deleted_message_or_file_takes_the_document_along(room: Room) -> None:
    await room.knowledge.ensure_base("handbook", GENERAL, TARO)
    for deleted in ("F1", "m-with-file"):
        await room.share("add this to handbook", message_id="m-with-file")
        assert await room.stored() == ["F1.pdf"]
        gone = room.desk.incoming("", kind=EventKind.DELETE, message_id=deleted, audience=GENERAL)
        assert await room.uploads.handle(gone, translator("en")) is None
        assert await room.stored() == []


async def test_a_file_taken_off_its_message_takes_its_document_along_alone(room: Room) -> None:
    await room.knowledge.ensure_base("handbook", GENERAL, TARO)
    room.shelf.files["F3"] = pages("another")
    for file in ("F1", "F3"):
        await room.share("add this to handbook", file=file, message_id="m1")
    left = Attachment("F3", "F3.pdf", "application/pdf", 9, "https://x.example")
    for files, stored in (((left,), ["F3.pdf"]), ((), [])):
        edited = room.desk.incoming(
            "追加して", kind=EventKind.EDIT, message_id="m1", audience=GENERAL, attachments=files
        )
        assert await room.uploads.handle(edited, translator("en")) is None  # its words count too
        assert await room.stored() == stored


async def test_a_file_shared_in_a_dm_goes_from_a_base_elsewhere_when_it_is_deleted(
    room: Room,
) -> None:
    """On some platforms a DM belongs to no tenant but its own, as its people do."""
    await room.knowledge.ensure_base("handbook", GENERAL, TARO)
    stranger = Person("console", "@me", "1")
    dm = Audience("console", "@me", "1")
    author = Author(stranger, "ken")
    asked = await room.share(
        "add this to handbook", dm, author=author, message_id="m1", tenant="@me"
    )
    assert asked is not None
    await room.command(asked.choices[0].command, stranger)
    assert await room.stored() == ["F1.pdf"]
    assert await room.knowledge.has(dm, "m1")
    assert not await room.knowledge.has(Audience("console", "elsewhere", "1"), "m1")
    gone = room.desk.incoming("", kind=EventKind.DELETE, message_id="m1", audience=dm)
    await room.uploads.handle(gone, translator("en"))
    assert await room.stored() == []


async def test_a_file_is_said_to_be_added_when_its_meaning_can_be_searched(room: Room) -> None:
    await room.knowledge.ensure_base("handbook", GENERAL, TARO)
    reply = await room.share("add this to handbook")
    assert reply is not None
    assert "added" in reply.text
    waiting = await room.mind.embedding.drain()
    assert waiting == 0


async def test_where_files_are_collected_is_known_at_once_and_after_a_restart(room: Room) -> None:
    base = await room.knowledge.ensure_base("papers", GENERAL, TARO)
    assert not room.knowledge.collects(GENERAL)
    await room.knowledge.collect(base, True)
    restarted = made(room.mind)
    await restarted.load()
    for knowledge in (room.knowledge, restarted):
        assert knowledge.collects(GENERAL)
        assert not knowledge.collects(SECRET)
    await room.knowledge.collect(base, False)
    assert not room.knowledge.collects(GENERAL)


async def test_readers_are_named_as_people_name_their_place(room: Room) -> None:
    await room.knowledge.ensure_base("handbook", GENERAL, TARO)
    room.names.attach({"console": Signposts({"general": "#雑談"}), "other": object()})
    asked = await room.share("add this to handbook", TARO_DM)
    assert asked is not None
    assert "everybody who can read #雑談" in asked.text
    assert "#雑談" in (await room.command("bases")).text
    room.names.attach({"console": Signposts({})})
    assert "everybody who can read general" in (await room.command("bases")).text


@dataclass
class Signposts:
    """A platform whose places have these names."""

    names: dict[str, str]

    async def place_name(self, place: Audience, locale: str) -> str:
        return self.names.get(place.name, "")


# -- commands ------------------------------------------------------------------------------------


async def test_bases_are_made_listed_and_only_where_they_are_read(room: Room) -> None:
    chief = Author(TARO, "taro", is_admin=True)
    made_here = await room.command("bases new 手引き", author=chief, audience=SECRET)
    assert "手引き" in made_here.text
    assert "手引き" in (await room.command("bases")).text
    listed = await room.command("ナレッジ", readable=Readable.of(GENERAL), locale="ja")
    assert "手引き" not in listed.text


async def test_in_a_channel_only_admins_make_bases(room: Room) -> None:
    where: dict[str, Any] = {"audience": GENERAL, "surface": Surface.PUBLIC}
    await room.command("bases new handbook", **where)
    assert await room.knowledge.bases(WIDE) == []
    await room.command("bases new notes")
    assert [base.audience for base in await room.knowledge.bases(WIDE)] == [TARO_DM]


async def test_collecting_is_announced_to_the_place(room: Room) -> None:
    chief = Author(TARO, "taro", is_admin=True)
    where: dict[str, Any] = {"author": chief, "audience": GENERAL, "surface": Surface.PUBLIC}
    await room.command("bases new papers", **where)
    told = await room.command("bases collect papers on", **where)
    assert told.notice
    assert [base.collects for base in await room.knowledge.bases(WIDE)] == [True]
    await room.command("bases collect papers off", **where)
    assert [base.collects for base in await room.knowledge.bases(WIDE)] == [False]
    assert not (
        await room.command("bases collect papers on", audience=GENERAL, surface=Surface.PUBLIC)
    ).notice


async def test_documents_are_listed_and_removed_after_confirmation(room: Room) -> None:
    await room.knowledge.ensure_base("handbook", GENERAL, TARO)
    await room.share("add this to handbook")
    listed = await room.command("sources handbook")
    assert "F1.pdf" in listed.text
    assert "F1.pdf" not in (await room.command("sources", readable=Readable.of(SECRET))).text
    asked = await room.command("sources remove 1")
    assert await room.stored() == ["F1.pdf"]
    await room.command(asked.choices[0].command)
    assert await room.stored() == []


async def test_somebody_elses_document_stays(room: Room) -> None:
    await room.knowledge.ensure_base("handbook", GENERAL, TARO)
    await room.share("add this to handbook")
    reply = await room.command("sources remove 1 --yes", HANAKO)
    missing = await room.command("sources remove 7 --yes", HANAKO)
    assert reply.text.replace("1", "7") == missing.text
    assert await room.stored() == ["F1.pdf"]

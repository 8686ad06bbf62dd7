"""What a person lives through with Oboete on Discord, with `oboete run` itself as a process."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.e2e.discord_run import DiscordRun, discord_run, everything, labels
from tests.e2e.discord_world import FORUM, TEXT, VOICE, Channel, Guild, Person
from tests.ollama_double import OllamaDouble

pytestmark = pytest.mark.asyncio(loop_scope="module")

SURFACES = ["channel", "thread", "forum post", "voice chat", "dm"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def run(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[DiscordRun]:
    """One program for all tests here; each has people and a guild of its own."""
    async with (
        OllamaDouble() as ollama,
        discord_run(tmp_path_factory.mktemp("story"), ollama) as running,
    ):
        yield running


async def surface(run: DiscordRun, kind: str, guild: Guild, who: Person) -> Channel:
    """A place of the guild, or a DM, in which nothing has been said yet."""
    if kind == "dm":
        return run.world.dm(who)
    if kind == "voice chat":
        return await run.open_channel(run.world.channel(guild, "lounge", VOICE))
    if kind == "forum post":
        forum = await run.open_channel(run.world.channel(guild, "questions", FORUM))
        return await run.open_channel(run.world.thread(forum, "my post", who))
    parent = await run.open_channel(run.world.channel(guild, "talk", TEXT))
    if kind == "channel":
        return parent
    return await run.open_channel(run.world.thread(parent, "a topic", who))


def place(channel: Channel, who: Person) -> str:
    """The audience's name."""
    if channel.guild is None:
        return f"discord:@me:{who.id}"
    return f"discord:{channel.guild}:{channel.parent or channel.id}"


async def vectors(run: DiscordRun, name: str) -> int:
    """How many vectors there are of a place, once none is waited for."""
    waiting = "SELECT 1 FROM embedding_queue q JOIN audience a ON a.id = q.audience_id"
    await run.program.until(lambda: not run.program.rows(f"{waiting} WHERE a.name = ?", name))
    held = "SELECT count(*) FROM embedding e JOIN audience a ON a.id = e.audience_id"
    return int(run.program.rows(f"{held} WHERE a.name = ?", name)[0][0])


async def known_about(run: DiscordRun, who: Person) -> str:
    """What `/memory list` in their DM shows a person."""
    return "\n".join((await run.command(who, run.world.dm(who), "list")).shown)


FRUITS = ("plums", "quinces", "loquats")
ENGLISH = ("I live in Kanazawa.", "Where do I live?", "Kanazawa")
JAPANESE = ("金沢に住んでいます。", "私はどこに住んでいますか？", "金沢")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        *((kind, ENGLISH) for kind in SURFACES),
        ("channel", JAPANESE),
        ("dm", JAPANESE),
    ],
)
async def test_what_is_told_is_remembered_and_answered_with_its_source(
    run: DiscordRun, kind: str, words: tuple[str, str, str]
) -> None:
    told, asked, value = words
    alice = run.person("alice")
    guild = await run.guild("g", alice)
    where = await surface(run, kind, guild, alice)
    first = await run.ask(alice, where, told)
    assert value in run.answer(where, first)
    assert len(run.answers(where, first)) == 1
    second = await run.ask(alice, where, asked)
    (answer,) = run.answers(where, second)
    assert value in answer["content"]
    assert f"/{where.id}/{first['id']}" in everything(answer)
    assert value in await known_about(run, alice)


@pytest.mark.parametrize("kind", SURFACES)
async def test_an_edit_changes_the_fact_and_a_deletion_leaves_nothing(
    run: DiscordRun, kind: str
) -> None:
    alice = run.person("alice")
    guild = await run.guild("g", alice)
    where = await surface(run, kind, guild, alice)
    before, after = f"Aomori{alice.id}", f"Beppu{alice.id}"
    said = await run.ask(alice, where, f"I live in {before}.")
    assert before in await known_about(run, alice)

    await run.edit(where, said, said["content"].replace(before, after))
    known = await known_about(run, alice)
    assert after in known
    assert before not in known
    assert run.program.on_disk(before) == []

    await run.delete(where, said)
    assert "nothing" in await known_about(run, alice)
    assert await vectors(run, place(where, alice)) == 0
    assert run.program.on_disk(after) == []
    found = await run.command(alice, run.world.dm(alice), "search", what=after)
    assert "".join(found.shown) == "I found nothing."


@pytest.mark.parametrize("kind", ["channel", "dm"])
async def test_messages_deleted_in_bulk_are_forgotten(run: DiscordRun, kind: str) -> None:
    alice = run.person("alice")
    guild = await run.guild("g", alice)
    where = await surface(run, kind, guild, alice)
    said = [
        await run.ask(alice, where, f"I like {thing}{alice.id}.") for thing in ("plums", "kelp")
    ]
    known = await known_about(run, alice)
    assert f"plums{alice.id}" in known
    assert f"kelp{alice.id}" in known
    await run.delete(where, *said)
    assert "nothing" in await known_about(run, alice)
    assert await vectors(run, place(where, alice)) == 0
    assert run.program.on_disk(f"plums{alice.id}") == []
    assert run.program.on_disk(f"kelp{alice.id}") == []


async def test_a_channel_that_is_deleted_takes_what_was_said_there_with_it(
    run: DiscordRun,
) -> None:
    alice = run.person("alice")
    guild = await run.guild("g", alice)
    where = await surface(run, "channel", guild, alice)
    asked = [await run.ask(alice, where, f"I like {fruit}{alice.id}.") for fruit in FRUITS]
    threads = [run.world.channels[int(said["id"])] for said in asked]
    followed = [await run.ask(alice, t, f"I live in Tottori{alice.id}.") for t in threads]
    await run.discord.remove_channel(where)
    for said in (*asked, *followed):
        await run.handled(f"delete:{said['id']}")
    assert "nothing" in await known_about(run, alice)
    assert run.program.on_disk(f"Tottori{alice.id}") == []
    for fruit in FRUITS:
        assert run.program.on_disk(f"{fruit}{alice.id}") == []


async def test_a_thread_that_is_deleted_leaves_the_question_it_was_opened_for(
    run: DiscordRun,
) -> None:
    alice = run.person("alice")
    guild = await run.guild("g", alice)
    where = await surface(run, "channel", guild, alice)
    said = await run.ask(alice, where, "I like plums.")
    thread = run.world.channels[int(said["id"])]
    followed = await run.ask(alice, thread, f"I live in Tottori{alice.id}.")
    await run.discord.remove_channel(thread)
    await run.handled(f"delete:{followed['id']}")
    known = await known_about(run, alice)
    assert "plums" in known
    assert "Tottori" not in known
    assert run.program.on_disk(f"Tottori{alice.id}") == []


async def test_reading_a_thread_again_keeps_the_question_it_was_opened_for(
    run: DiscordRun,
) -> None:
    alice = run.person("alice")
    guild = await run.guild("g", alice)
    where = await surface(run, "channel", guild, alice)
    said = await run.ask(alice, where, "I like plums.")
    thread = run.world.channels[int(said["id"])]
    await run.ask(alice, thread, "I live in Tottori.")
    await run.program.stop()
    await run.start()
    await run.ask(alice, thread, "I like kelp.")
    known = await known_about(run, alice)
    assert all(word in known for word in ("plums", "Tottori", "kelp"))


@pytest.mark.parametrize("kind", ["forum post", "dm"])
async def test_forgetting_by_command_asks_first_and_can_be_undone(
    run: DiscordRun, kind: str
) -> None:
    alice = run.person("alice")
    guild = await run.guild("g", alice)
    where = await surface(run, kind, guild, alice)
    town = f"Sakata{alice.id}"
    await run.ask(alice, where, f"I live in {town}.")
    asked = await run.command(alice, where, "forget", what=town)
    assert asked.is_ephemeral
    assert asked.original is not None
    assert labels(asked.original) == ["Forget"]
    assert town in await known_about(run, alice)

    done = await run.confirm(alice, where, asked.original, "Forget")
    assert "1 fact" in "\n".join(done.shown)
    assert "nothing" in await known_about(run, alice)
    assert run.program.on_disk(town) == []

    assert done.original is not None
    await run.press(alice, where, done.original, "Undo")
    assert town in await known_about(run, alice)


@pytest.mark.parametrize("kind", ["thread", "dm"])
async def test_forgetting_in_plain_words_acts_at_once(run: DiscordRun, kind: str) -> None:
    alice = run.person("alice")
    guild = await run.guild("g", alice)
    where = await surface(run, kind, guild, alice)
    await run.ask(alice, where, "remember that my locker is number 4711")
    assert "4711" in await known_about(run, alice)
    assert "1 fact" in await run.mention(alice, where, "forget my locker")
    assert "nothing" in await known_about(run, alice)


async def test_a_list_is_for_its_owner_and_turns_pages_after_a_restart(run: DiscordRun) -> None:
    alice, bob = run.person("alice"), run.person("bob")
    guild = await run.guild("g", alice, bob)
    general = run.channel(guild, "general")
    things = [f"thing number {n} of a rather long row of things that I like" for n in range(45)]
    await run.ask(alice, run.world.dm(alice), " ".join(f"I like {thing}." for thing in things))
    listed = await run.command(alice, general, "list")
    assert listed.is_ephemeral
    first = listed.original
    assert first is not None
    assert len(first["content"]) <= 2000
    assert labels(first) == ["▶"]
    seen = first["content"]

    stranger = await run.discord.press(bob, general, first, "▶")
    await run.program.until(lambda: stranger.original)
    assert "Only the person" in "\n".join(stranger.shown)

    greeted = run.shown_in(general)
    await run.program.stop()
    await run.start()
    while "▶" in labels(first):
        turned = await run.press(alice, general, first, "▶")
        assert turned.original is not None
        first = turned.original
        seen += first["content"]
    assert "◀" in labels(first)
    assert all(thing in seen for thing in things)
    assert run.shown_in(general) == greeted  # nobody is greeted twice


async def test_facts_are_suggested_while_typing_to_their_owner_alone(run: DiscordRun) -> None:
    alice, bob = run.person("alice"), run.person("bob")
    guild = await run.guild("g", alice, bob)
    general = run.channel(guild, "general")
    await run.ask(alice, run.world.dm(alice), "I live in Hakodate.")
    await run.ask(alice, run.world.dm(alice), "紅茶が好きです。")
    (offered,) = await run.suggested(alice, general, "hako")
    assert "Hakodate" in offered["name"]
    assert ["紅茶" in each["name"] for each in await run.suggested(alice, general, "紅")] == [True]
    assert len(await run.suggested(alice, general, "")) == 2
    assert await run.suggested(bob, general, "hako") == []
    asked = await run.command(alice, general, "forget", what=offered["value"])
    assert "1 fact" in "\n".join(asked.shown)
    assert "Hakodate" not in await known_about(run, alice)


async def test_menus_remember_and_forget_a_message_and_show_what_is_known(
    run: DiscordRun,
) -> None:
    alice, bob = run.person("alice"), run.person("bob")
    guild = await run.guild("g", alice, bob)
    general = run.channel(guild, "general")
    aside = await run.discord.say(bob, general, "The stapler of bob is in drawer 12.")
    kept = await run.menu(alice, general, "Remember this", aside)
    assert kept.is_ephemeral
    assert "drawer 12" in "\n".join(kept.shown)
    assert "drawer 12" in await run.mention(alice, general, "Where is the stapler?")

    own = await run.ask(alice, general, "I live in Nikko.")
    shown = await run.menu(alice, general, "What do you know about me", own)
    assert "Nikko" in "\n".join(shown.shown)
    gone = await run.menu(alice, general, "Forget this", own)
    assert "1 fact" in "\n".join(gone.shown)
    assert "Nikko" not in await known_about(run, alice)


async def test_nobody_forgets_what_another_person_said(run: DiscordRun) -> None:
    alice, bob = run.person("alice"), run.person("bob")
    guild = await run.guild("g", alice, bob)
    general = run.channel(guild, "general")
    said = await run.ask(alice, general, "I live in Ebisu.")
    (number,) = [each["value"] for each in await run.suggested(alice, general, "Ebisu")]
    for refused in (
        await run.command(bob, general, "forget", what=number),
        await run.command(bob, general, "forget", what="99999"),
    ):
        assert refused.shown == ["I know nothing by that number that is yours to forget."]
    await run.menu(bob, general, "Forget this", said)
    assert "Ebisu" in await known_about(run, alice)


@pytest.mark.parametrize("kind", ["channel", "dm"])
async def test_the_export_is_a_file_that_only_its_owner_gets(run: DiscordRun, kind: str) -> None:
    alice = run.person("alice")
    guild = await run.guild("g", alice)
    where = await surface(run, kind, guild, alice)
    await run.ask(alice, where, "I live in Ōita.")
    mark = run.mark()
    await run.command(alice, where, "export")
    sent = [r for r in run.discord.requests[mark:] if r.body and r.body.get("files")]
    assert len(sent) == 1
    ((name, data),) = sent[0].body["files"].items()
    assert name == "oboete-export.json"
    exported = json.loads(data)
    assert [fact["text"] for fact in exported["facts"]] == ["I live in Ōita."]
    assert "I live in Ōita." in [message["text"] for message in exported["messages"]]
    if kind == "channel":  # what hangs on an ephemeral message is lost with it
        assert sent[0].path == f"channels/{run.world.dm(alice).id}/messages"


async def test_a_paused_channel_stores_nothing_and_everybody_is_told(run: DiscordRun) -> None:
    alice, bob = run.person("alice"), run.person("bob")
    guild = await run.guild("g", alice, bob)
    where = await surface(run, "channel", guild, alice)
    paused = await run.command(bob, where, "pause")
    assert paused.is_ephemeral
    assert "Paused" in run.shown_in(where)
    secret = f"Matsue{alice.id}"
    await run.ask(alice, where, f"I live in {secret}.")
    assert "nothing" in await known_about(run, alice)
    assert not run.program.stored(secret)
    await run.command(bob, where, "resume")
    await run.ask(alice, where, f"I live in {secret}.")
    assert secret in await known_about(run, alice)


async def test_a_person_who_paused_is_not_stored_anywhere(run: DiscordRun) -> None:
    alice = run.person("alice")
    guild = await run.guild("g", alice)
    await run.command(alice, run.channel(guild, "general"), "pause", what="me")
    for where in (run.channel(guild, "general"), run.world.dm(alice)):
        await run.ask(alice, where, f"I live in Tosu{alice.id}.")
    assert "nothing" in await known_about(run, alice)
    assert not run.program.stored(f"Tosu{alice.id}")


async def test_joining_a_guild_says_once_what_is_stored_in_its_language(run: DiscordRun) -> None:
    alice = run.person("alice")
    english = await run.guild("g", alice)
    japanese = await run.guild("g", alice, locale="ja")
    assert "/memory pause" in run.shown_in(run.channel(english, "general"))
    greeting = run.shown_in(run.channel(japanese, "general"))
    assert "/memory pause" in greeting
    assert "保存します" in greeting
    assert "Hello" not in greeting


async def test_a_japanese_client_is_spoken_to_in_japanese(run: DiscordRun) -> None:
    hanako = run.person("花子")
    guild = await run.guild("職場", hanako, locale="ja")
    general = run.channel(guild, "general")
    group = next(c for c in run.discord.commands if c["name"] == "memory")
    names = {o["name"]: o["name_localizations"].get("ja") for o in group["options"]}
    assert names["list"] == "一覧"
    assert "覚えました" in await run.mention(hanako, general, "私は札幌に住んでいます。")
    listed = await run.command(hanako, general, "list", locale="ja")
    assert "札幌" in listed.shown[0]
    assert "know" not in listed.shown[0]
    asked = await run.command(hanako, general, "forget", locale="ja", what="札幌")
    assert asked.original is not None
    (button,) = labels(asked.original)
    form = await run.discord.press(hanako, general, asked.original, button)
    await run.program.until(lambda: form.response)
    done = await run.discord.submit(form, "はい")
    await run.handled(f"interaction:{done.id}")
    assert "札幌" not in await known_about(run, hanako)


async def test_the_bot_s_own_posts_about_what_was_forgotten_can_be_deleted(
    run: DiscordRun,
) -> None:
    alice = run.person("alice")
    guild = await run.guild("g", alice)
    general = run.channel(guild, "general")
    told = await run.ask(alice, general, "My bicycle is from Utrecht.")
    asked = await run.ask(alice, general, "Where is my bicycle from?")
    assert "Utrecht" in run.answer(general, asked)
    receipt = await run.command(alice, general, "forget", what="bicycle --yes")
    assert receipt.original is not None
    label = next(label for label in labels(receipt.original) if "Delete" in label)
    deleted = await run.press(alice, general, receipt.original, label)
    assert deleted.shown == ["Deleted: 2 posts."]
    assert run.answers(general, told) == run.answers(general, asked) == []


async def test_the_group_has_every_command_that_help_lists(run: DiscordRun) -> None:
    alice, admin = run.person("alice"), run.person("admin")
    guild = await run.guild("g", alice, admin)
    guild.owner = admin.id
    await run.discord.emit("GUILD_UPDATE", run.world.guild_body(guild))
    general = run.channel(guild, "general")
    group = next(c for c in run.discord.commands if c["name"] == "memory")
    listed = await run.command(admin, general, "help")
    named = re.findall(r"(?m)^- `(\w+)", "\n".join(listed.shown))
    assert [option["name"] for option in group["options"]] == named
    assert {"remind", "admin"} <= set(named)
    refused = await run.command(alice, general, "admin", what="stats")
    assert refused.shown == ["Only an admin can do that."]
    counted = await run.command(admin, general, "admin", what="stats")
    assert "People: " in counted.shown[0]
    reminded = await run.command(alice, general, "remind", what="tomorrow at 9 to call Ken")
    assert "call Ken" in reminded.shown[0]


async def test_why_and_ratings_work_under_an_answer(run: DiscordRun) -> None:
    alice, bob = run.person("alice"), run.person("bob")
    guild = await run.guild("g", alice, bob)
    general = run.channel(guild, "general")
    await run.ask(alice, general, "I live in Uji.")
    said = await run.ask(alice, general, "Where do I live?")
    (answer,) = run.answers(general, said)
    why = await run.press(alice, general, answer, "Why?")
    assert why.is_ephemeral
    assert "Uji" in "\n".join(why.shown)
    rated = await run.press(alice, general, answer, "👍")
    assert rated.shown == ["Thank you."]
    other = await run.discord.press(bob, general, answer, "👎")
    await run.program.until(lambda: other.original)
    assert "Only the person" in "\n".join(other.shown)
    assert run.program.rows("SELECT count(*) FROM trace WHERE rating = 1") == [(1,)]
    thread = run.world.channels.get(int(said["id"]), general)
    ratings = "SELECT rating FROM trace WHERE asker = ? AND rating NOTNULL"

    def rated_by_alice() -> int:
        return int(run.program.rows(ratings, f"discord:@me:{alice.id}")[0][0])

    for who in (bob, alice):  # Bob's verdict counts for nothing
        await run.discord.react(who, thread, answer, "👎")
    await run.program.until(lambda: rated_by_alice() == -1)
    await run.discord.react(alice, thread, answer, "👎", added=False)
    await run.program.until(lambda: rated_by_alice() == 0)


async def test_what_is_not_addressed_to_it_is_never_stored_until_a_channel_is_listened_to(
    run: DiscordRun,
) -> None:
    alice, admin = run.person("alice"), run.person("admin")
    guild = await run.guild("g", alice, admin)
    guild.owner = admin.id
    await run.discord.emit("GUILD_UPDATE", run.world.guild_body(guild))
    general = run.channel(guild, "general")
    await run.discord.say(alice, general, f"The spare key is under stone {alice.id}.")
    refused = await run.command(alice, general, "listen", what="on")
    assert refused.shown == ["Only an admin can do that."]
    assert not run.program.stored(f"stone {alice.id}")
    before = run.shown_in(general)
    await run.command(admin, general, "listen", what="on")
    assert run.shown_in(general) != before  # everybody sees a notice
    await run.say(alice, general, f"The spare key is under stone {alice.id}.")
    assert run.program.stored(f"stone {alice.id}")


async def test_no_words_of_anybody_are_in_the_log(run: DiscordRun) -> None:
    alice = run.person("alice")
    dm = run.world.dm(alice)
    for words in ("I live in Kanazawa.", "Where do I live?", "私のロッカーは金沢です。"):
        await run.ask(alice, dm, words)
    log = run.program.log_text()
    assert "answered message:" in log
    for words in (
        "Kanazawa",
        "金沢",
        "my locker",
        "drawer 12",
        run.discord.token,
        "Where do I live",
    ):
        assert words not in log
    assert "Traceback" not in log


async def test_complaint_13_forgetting_everything_leaves_no_vector_behind(
    run: DiscordRun,
) -> None:
    alice = run.person("alice")
    guild = await run.guild("g", alice)
    where = await surface(run, "channel", guild, alice)
    for fruit in FRUITS:
        await run.ask(alice, where, f"I like {fruit}{alice.id}.")
    assert await vectors(run, place(where, alice)) > 0
    forgotten = await run.command(alice, where, "forget", what="everything --yes")
    assert "Forgotten" in "\n".join(forgotten.shown)
    assert await vectors(run, place(where, alice)) == 0
    assert run.program.on_disk(f"{FRUITS[0]}{alice.id}") == []

"""Who may read what: places, public channels, DMs, and everything that changes them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import discord
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.discord_audiences import (
    Audiences,
    can_read,
    direct_place,
    is_public,
    person,
    place,
)
from adapters.discord_client import intents
from bot.messages import IncomingMessage, Surface
from memory.types import Audience
from tests.adapters.discord_fakes import Bench, Stage, running, stage
from tests.contracts.platform import MemoryPrivacy
from tests.e2e.discord_double import DiscordDouble, Fault, until
from tests.e2e.discord_world import (
    BOT,
    EVERYDAY,
    GROUP_DM,
    HISTORY,
    TEXT,
    VIEW,
    VOICE,
    Channel,
    Guild,
    Overwrite,
    Person,
    World,
)

CONNECT = 1 << 20
READ = VIEW | HISTORY


def at(channel: Channel) -> Audience:
    assert channel.guild is not None
    return place(channel.guild, channel.id)


async def ask(s: Stage, bench: Bench, who: Person, channel: Channel) -> IncomingMessage:
    """Say something and see what the answer may draw on."""
    asked = await s.double.mention(who, channel, "what do you know?")
    await until(lambda: any(m.message_id == asked["id"] for m in bench.heard))
    return next(m for m in bench.heard if m.message_id == asked["id"])


def cached(world: World, guild: Guild) -> discord.Guild:
    """The guild as discord.py holds it."""
    client = discord.Client(intents=intents())
    return discord.Guild(data=world.guild_body(guild), state=client._connection)  # type: ignore[arg-type]


bits = st.lists(st.sampled_from([VIEW, HISTORY, CONNECT]), max_size=3).map(lambda b: sum(set(b)))


@st.composite
def guilds(draw: st.DrawFn) -> tuple[World, Guild, list[Channel], list[Person]]:
    """A guild of any permissions, overwrites and roles."""
    world = World()
    people = [world.person(f"p{n}") for n in range(3)]
    guild = world.guild("g", *people)
    guild.roles[guild.id] = draw(bits)
    roles = [world.role(guild, draw(bits)) for _ in range(2)]
    for each in people:
        guild.members[each.id] = set(draw(st.lists(st.sampled_from(roles), max_size=2)))
    targets = [(guild.id, False), *((role, False) for role in roles), (people[0].id, True)]
    channels = []
    for kind in (TEXT, VOICE):
        channel = world.channel(guild, "c", kind)
        channel.nsfw = draw(st.sampled_from([False, False, True]))
        for target, is_member in draw(st.lists(st.sampled_from(targets), unique=True)):
            channel.overwrites.append(Overwrite(target, is_member, draw(bits), draw(bits)))
        channels.append(channel)
    return world, guild, channels, people


@given(guilds())
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=150)
def test_what_is_public_every_member_can_read_and_permissions_are_discords_own(
    made: tuple[World, Guild, list[Channel], list[Person]],
) -> None:
    world, guild, channels, people = made
    known = cached(world, guild)
    for channel in channels:
        here = known.get_channel(channel.id)
        assert isinstance(here, discord.TextChannel | discord.VoiceChannel)
        needed = READ | (CONNECT if channel.type == VOICE else 0)
        readers = [world.may(channel, each.id, needed) for each in people]
        for each, reads in zip(people, readers, strict=True):
            member = known.get_member(each.id)
            assert member is not None
            assert can_read(here, member) == (reads and not channel.nsfw)
        if is_public(here):
            assert all(readers)


@pytest.mark.parametrize("denied", [VIEW, HISTORY])
@pytest.mark.parametrize("to", ["everyone", "a role", "a member"])
async def test_any_overwrite_that_takes_reading_away_makes_a_channel_private(
    denied: int, to: str
) -> None:
    async with stage() as s:
        role = s.double.world.role(s.guild)
        target = {"everyone": s.guild.id, "a role": role, "a member": s.alice.id}[to]
        s.general.overwrites = [
            Overwrite(target, to == "a member", deny=denied),
            Overwrite(BOT, True, allow=EVERYDAY),
        ]
        lobby = s.double.world.channel(s.guild, "lobby")
        async with running(s.double, Bench()) as bench:
            message = await ask(s, bench, s.bob, s.general)
            elsewhere = await ask(s, bench, s.bob, lobby)
        assert message.surface is Surface.PRIVATE
        assert set(message.readable) == {s.place, at(lobby)}
        assert set(elsewhere.readable) == {at(lobby)}


async def test_an_allowing_overwrite_makes_a_channel_public_when_the_guild_is_closed() -> None:
    async with stage() as s:
        s.guild.roles[s.guild.id] = EVERYDAY & ~VIEW
        s.general.overwrites = [Overwrite(s.guild.id, False, allow=VIEW)]
        async with running(s.double, Bench()) as bench:
            message = await ask(s, bench, s.alice, s.general)
        assert message.surface is Surface.PUBLIC


async def test_a_private_thread_is_its_own_place_and_no_other_place_reads_it() -> None:
    async with stage() as s:
        thread = s.double.world.thread(s.general, "plans", s.alice, private=True)
        async with running(s.double, Bench()) as bench:
            inside = await ask(s, bench, s.alice, thread)
            outside = await ask(s, bench, s.alice, s.general)
        assert inside.surface is Surface.PRIVATE
        assert inside.audience == at(thread)
        assert set(inside.readable) == {at(thread), s.place}
        assert at(thread) not in outside.readable


async def test_a_dm_reads_what_that_user_can_read_in_every_mutual_guild() -> None:
    async with stage() as s:
        w = s.double.world
        other = w.guild("other", s.alice)
        strangers = w.guild("strangers", s.bob)
        role = w.role(s.guild)
        vault = w.restricted(s.guild, "vault", role)
        inner = w.thread(s.general, "inner", s.alice, private=True)
        theirs = w.thread(s.general, "theirs", s.bob, private=True)
        town = w.channel(other, "town")
        far = w.channel(strangers, "far")
        s.guild.members[s.alice.id] = {role}
        async with running(s.double, Bench()) as bench:
            await s.double.say(s.alice, w.dm(s.alice), "?")
            await s.double.say(s.bob, w.dm(s.bob), "?")
            await until(lambda: len(bench.heard) == 2)
        found = {m.author.person.name: set(m.readable) for m in bench.heard}
        assert found[str(s.alice.id)] == {
            direct_place(s.alice.id), s.place, at(vault), at(inner), at(town),
        }  # fmt: skip
        assert found[str(s.bob.id)] == {direct_place(s.bob.id), s.place, at(theirs), at(far)}


async def test_no_guild_reads_a_dm_and_no_guild_another() -> None:
    async with stage() as s:
        other = s.double.world.guild("other", s.alice)
        town = s.double.world.channel(other, "town")
        async with running(s.double, Bench()) as bench:
            message = await ask(s, bench, s.alice, town)
            called = await s.double.slash(s.alice, town, "list")
            await until(lambda: called.shown)
        assert set(message.readable) == {at(town)}
        assert set(bench.heard[1].readable) == {direct_place(s.alice.id), at(town)}


CHANGES = {
    "their role was taken": lambda s, vault, role: s.double.set_roles(s.guild, s.alice),
    "the role lost its permissions": lambda s, vault, role: s.double.set_overwrites(
        vault, Overwrite(s.guild.id, False, deny=VIEW), Overwrite(role, False, deny=VIEW)
    ),
    "the channel was closed to them": lambda s, vault, role: s.double.set_overwrites(
        vault, *vault.overwrites, Overwrite(s.alice.id, True, deny=VIEW)
    ),
    "they left the guild": lambda s, vault, role: s.double.leave(s.guild, s.alice),
    "the channel is gone": lambda s, vault, role: s.double.remove_channel(vault),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_what_a_user_loses_is_lost_at_once(change: str) -> None:
    async with stage() as s:
        role = s.double.world.role(s.guild)
        vault = s.double.world.restricted(s.guild, "vault", role)
        s.guild.members[s.alice.id] = {role}
        dm = s.double.world.dm(s.alice)
        async with running(s.double, Bench()) as bench:
            await s.double.say(s.alice, dm, "before")
            await until(lambda: len(bench.heard) == 1)
            assert at(vault) in bench.heard[0].readable
            await CHANGES[change](s, vault, role)
            await s.double.say(s.alice, dm, "after")
            await until(lambda: len(bench.heard) == 2)
            assert at(vault) not in bench.heard[1].readable


async def test_the_permissions_of_a_role_count_as_soon_as_they_change() -> None:
    async with stage() as s:
        role = s.double.world.role(s.guild, EVERYDAY)
        s.guild.roles[s.guild.id] = 0
        s.guild.members[s.alice.id] = {role}
        s.guild.members[BOT] = {role}
        dm = s.double.world.dm(s.alice)
        async with running(s.double, Bench()) as bench:
            await s.double.say(s.alice, dm, "before")
            await until(lambda: len(bench.heard) == 1)
            assert s.place in bench.heard[0].readable
            await s.double.set_role(s.guild, role, 0)
            await s.double.say(s.alice, dm, "after")
            await until(lambda: len(bench.heard) == 2)
            assert set(bench.heard[1].readable) == {direct_place(s.alice.id)}


async def test_public_to_private_narrows_every_destination_at_once() -> None:
    async with stage() as s:
        lobby = s.double.world.channel(s.guild, "lobby")
        async with running(s.double, Bench()) as bench:
            before = await ask(s, bench, s.bob, lobby)
            await s.double.set_overwrites(
                s.general,
                Overwrite(s.guild.id, False, deny=VIEW),
                Overwrite(BOT, True, allow=EVERYDAY),
            )
            after = await ask(s, bench, s.bob, lobby)
        assert s.place in before.readable
        assert set(after.readable) == {at(lobby)}


async def test_the_memory_is_told_what_is_private_and_what_is_public() -> None:
    async with stage() as s:
        board = s.double.world.channel(
            s.guild, "board", TEXT, Overwrite(s.guild.id, False, deny=VIEW)
        )
        async with running(s.double, Bench()) as bench:
            await ask(s, bench, s.bob, s.general)
            assert bench.privacy.public == {s.place}
            assert bench.privacy.private == set()
            await ask(s, bench, s.alice, board)
            await ask(s, bench, s.alice, s.double.world.dm(s.alice))
            assert bench.privacy.public == {s.place}
            assert bench.privacy.private == {at(board)}


async def test_whoever_leaves_a_private_thread_no_longer_reads_it() -> None:
    async with stage() as s:
        thread = s.double.world.thread(s.general, "plans", s.alice, private=True)
        dm = s.double.world.dm(s.alice)
        async with running(s.double, Bench()) as bench:
            for count in (1, 2):  # the second time from the cache
                await s.double.say(s.alice, dm, "before")
                await until(lambda n=count: len(bench.heard) == n)  # type: ignore[misc]
                assert at(thread) in bench.heard[-1].readable
            assert len(s.double.calls("GET", "thread-members")) == 1
            await s.double.leave_thread(thread, s.alice)
            await s.double.say(s.alice, dm, "after")
            await until(lambda: len(bench.heard) == 3)
            assert at(thread) not in bench.heard[2].readable


async def test_membership_of_threads_is_not_remembered_for_longer_than_five_minutes() -> None:
    async with stage() as s:
        thread = s.double.world.thread(s.general, "plans", s.alice, private=True)
        dm = s.double.world.dm(s.alice)
        async with running(s.double, Bench()) as bench:
            await s.double.say(s.alice, dm, "before")
            await until(lambda: len(bench.heard) == 1)
            thread.members.clear()  # and no event told of it
            bench.clock.ahead = timedelta(minutes=5)
            await s.double.say(s.alice, dm, "after")
            await until(lambda: len(bench.heard) == 2)
            assert at(thread) not in bench.heard[1].readable


@pytest.mark.parametrize("status", [403, 404])
async def test_membership_that_cannot_be_found_out_is_left_out(status: int) -> None:
    async with stage() as s:
        thread = s.double.world.thread(s.general, "plans", s.alice, private=True)
        dm = s.double.world.dm(s.alice)
        async with running(s.double, Bench()) as bench:
            s.double.faults.append(Fault("GET", "thread-members", status, {}))
            await s.double.say(s.alice, dm, "?")
            await until(lambda: len(bench.heard) == 1)
        assert at(thread) not in bench.heard[0].readable
        assert s.place in bench.heard[0].readable


async def test_without_the_members_intent_every_member_is_asked_for_anew() -> None:
    async with stage() as s:
        s.double.flags = 1 << 19  # message content alone
        role = s.double.world.role(s.guild)
        vault = s.double.world.restricted(s.guild, "vault", role)
        s.guild.members[s.alice.id] = {role}
        dm = s.double.world.dm(s.alice)
        async with running(s.double, Bench()) as bench:
            assert bench.platform.missing_intents == ("Server Members Intent",)
            await s.double.say(s.alice, dm, "before")
            await until(lambda: len(bench.heard) == 1)
            s.guild.members[s.alice.id] = set()  # no event tells of it
            await s.double.say(s.alice, dm, "after")
            await until(lambda: len(bench.heard) == 2)
        assert at(vault) in bench.heard[0].readable
        assert at(vault) not in bench.heard[1].readable


async def test_a_guest_of_a_voice_channel_reads_no_more_than_their_dm() -> None:
    async with stage() as s:
        voice = s.double.world.channel(s.guild, "voice", VOICE)
        s.guild.guests.add(s.alice.id)
        async with running(s.double, Bench()) as bench:
            chat = await ask(s, bench, s.bob, voice)
            general = await ask(s, bench, s.bob, s.general)
            await s.double.say(s.alice, s.double.world.dm(s.alice), "?")
            await until(lambda: len(bench.heard) == 3)
        assert set(chat.readable) == {at(voice)}  # the guest reads this chat
        assert at(voice) in general.readable
        assert set(bench.heard[2].readable) == {direct_place(s.alice.id)}


async def test_an_age_restricted_channel_is_not_for_everybody() -> None:
    async with stage() as s:
        adult = s.double.world.channel(s.guild, "adult")
        adult.nsfw = True
        async with running(s.double, Bench()) as bench:
            inside = await ask(s, bench, s.alice, adult)
            general = await ask(s, bench, s.alice, s.general)
        assert inside.surface is Surface.PRIVATE
        assert at(adult) not in general.readable


async def test_complaint_4_a_place_that_is_not_known_reads_itself_alone() -> None:
    async with stage() as s:
        async with running(s.double, Bench()) as bench:
            unknown = s.double.world.channel(s.guild, "unheard of")  # no event told of it
            s.double.faults.append(Fault("GET", rf"channels/{unknown.id}\Z", 403, {}, times=9))
            message = await ask(s, bench, s.alice, unknown)
        assert message.surface is Surface.UNKNOWN
        assert set(message.readable) == {at(unknown)}


async def test_complaint_4_a_group_dm_is_not_a_dm() -> None:
    async with stage() as s:
        group = s.double.world.dm(s.alice)
        async with running(s.double, Bench()) as bench:
            group.type = GROUP_DM
            await s.double.slash(s.alice, group, "list")
            await until(lambda: bench.sent)
        message = bench.heard[0]
        assert message.surface is Surface.GROUP_DM
        assert message.place == Audience("discord", "@me", str(group.id))
        assert message.audience == direct_place(s.alice.id)


async def test_complaint_3_two_people_who_write_at_the_same_moment_keep_their_own_rights() -> None:
    async with stage() as s:
        role = s.double.world.role(s.guild)
        vault = s.double.world.restricted(s.guild, "vault", role)
        s.guild.members[s.alice.id] = {role}
        async with running(s.double, Bench()) as bench:
            await asyncio.gather(*(
                s.double.say(who, s.double.world.dm(who), who.name)
                for who in (s.alice, s.bob) * 10
            ))  # fmt: skip
            await until(lambda: len(bench.heard) == 20)
        for message in bench.heard:
            mine = message.text == "alice"
            assert message.author.display_name == message.text
            assert (at(vault) in message.readable) == mine
            assert direct_place(s.alice.id if mine else s.bob.id) in message.readable
            assert direct_place(s.bob.id if mine else s.alice.id) not in message.readable


async def test_while_the_gateway_is_away_a_place_reads_itself_alone() -> None:
    world = World()
    alice = world.person("alice")
    guild = world.guild("g", alice)
    general, lobby = world.channel(guild, "general"), world.channel(guild, "lobby")
    known = cached(world, guild)
    for live in (True, False):
        audiences = Audiences(
            discord.Client(intents=intents()),
            is_live=lambda: live,  # noqa: B023
            members_known=True,
            privacy=MemoryPrivacy(),
            clock=lambda: datetime.now(UTC),
        )
        channel = known.get_channel(general.id)
        assert isinstance(channel, discord.TextChannel)
        found = (await audiences.of_channel(guild.id, general.id, channel)).readable
        assert set(found) == ({at(general), at(lobby)} if live else {at(general)})
        mine = await audiences.of_person(alice.id, known)
        expected = {direct_place(alice.id), *([at(general), at(lobby)] if live else [])}
        assert set(mine) == expected


async def test_admins_are_those_who_manage_the_guild_and_those_of_the_settings() -> None:
    async with stage() as s:
        role = s.double.world.role(s.guild, 1 << 5)
        s.guild.members[s.bob.id] = {role}
        async with running(s.double, Bench()) as bench:
            plain = await ask(s, bench, s.alice, s.general)
            manager = await ask(s, bench, s.bob, s.general)
            await s.double.say(s.bob, s.double.world.dm(s.bob), "?")
            await until(lambda: len(bench.heard) == 3)
        assert not plain.author.is_admin
        assert manager.author.is_admin
        assert not bench.heard[2].author.is_admin  # of a guild, not of the installation


async def test_a_secret_is_readable_exactly_where_all_readers_could_read_it() -> None:
    """The leak test: every place where something can be told × every destination."""
    async with stage() as s:
        w = s.double.world
        role = w.role(s.guild)
        s.guild.members[s.alice.id] = {role}
        other = w.guild("other", s.alice, s.bob)
        vault = w.restricted(s.guild, "vault", role)
        cellar = w.restricted(other, "cellar", w.role(other))
        plans = w.thread(s.general, "plans", s.alice, private=True)
        thread = w.thread(s.general, "open", s.alice, s.bob)
        town = w.channel(other, "town")
        spots = [s.general, vault, cellar, plans, thread, town]
        people = [s.alice, s.bob]
        async with running(s.double, Bench()) as bench:
            for channel in spots:
                await ask(s, bench, s.alice, channel)
            for who in people:
                await s.double.say(who, w.dm(who), "?")
            await until(lambda: len(bench.heard) == len(spots) + len(people))
            for who in people:
                for channel in (s.general, town):
                    await s.double.slash(who, channel, "list")
            await until(lambda: len(bench.heard) == len(spots) + 3 * len(people))
        for message in bench.heard:
            if message.private_reply or message.surface is Surface.DM:
                readers = [int(message.author.person.name)]
            else:
                destination = w.channels[int(message.channel)]
                readers = [p.id for p in people if w.may(destination, p.id, READ)]
            for told in message.readable:
                if told.tenant == "@me":
                    assert [int(told.name)] == readers
                else:
                    source = w.channels[int(told.name)]
                    assert all(w.may(source, reader, READ) for reader in readers)


async def test_a_token_reads_what_its_person_reads() -> None:
    async with DiscordDouble().serve() as double:
        alice = double.world.person("alice")
        general = double.world.channel(double.world.guild("g", alice), "general")
        async with running(double, Bench()) as bench:
            readable = await bench.platform.readable_by(person(alice.id))
        assert set(readable) == {direct_place(alice.id), at(general)}


async def test_what_is_used_is_checked_again_right_before_it_is_used() -> None:
    async with stage() as s:
        thread = s.double.world.thread(s.general, "plans", s.alice, private=True)
        lobby = s.double.world.channel(s.guild, "lobby")
        dm = s.double.world.dm(s.alice)
        async with running(s.double, Bench()) as bench:
            await s.double.say(s.alice, dm, "?")
            await until(lambda: len(bench.heard) == 1)
            called = await s.double.slash(s.alice, s.general, "list")
            await until(lambda: called.shown)
            public = await ask(s, bench, s.alice, s.general)
            thread.members.clear()  # and no event told of it
            await s.double.set_overwrites(lobby, Overwrite(s.guild.id, False, deny=VIEW))
            await ask(s, bench, s.bob, s.general)  # what was emitted before has come
            for message in (bench.heard[0], bench.heard[1], public):
                now = await bench.platform.still_readable(message, message.readable)
                assert set(now) == set(message.readable) - {at(thread), at(lobby)}
            assert at(thread) in bench.heard[0].readable
            assert at(lobby) in public.readable

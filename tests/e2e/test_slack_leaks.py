"""Nobody hears what they could not have read: every word that leaves `oboete run` is checked.

The workspace itself is the oracle. Whatever the program sends anywhere is compared with who can
read the place that each secret was told in, at that moment.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.slack_double import SlackDouble
from tests.e2e.slack_run import SlackRun, buttons, copied, oboete_run
from tests.e2e.slack_workspace import BOT_USER, Workspace
from tests.model_script import Answer, ChatRequest, echo
from tests.ollama_double import OllamaDouble

pytestmark = pytest.mark.slow

ALICE, BOB, CAROL, DAVE = "UALICE", "UBOB", "UCAROL", "UDAVE"
ADMIN, GUEST, STRANGER = "UADMIN", "UGUEST", "USTRANGER"
FULL = (ALICE, BOB, CAROL, DAVE, ADMIN)

SECRETS = {
    "quokka": "DALICE",
    "narwhal": "GSECRET",
    "axolotl": "MGROUP",
    "pangolin": "CSOON",
    "wombat": "CPUBLIC",
    "pelican": "GSECRET",
}
"""Each word, and the one place in which it was told."""

QUESTION = "What is the code word of the vault?"
OTHERS = ("Tell me about the vault.", "金庫の合言葉は何ですか？")


def workspace() -> Workspace:
    made = Workspace()
    for user in FULL:
        made.add_user(user, user[1:].title(), admin=user == ADMIN)
    made.add_user(GUEST, "Guest", restricted=True)
    made.add_user(STRANGER, "Stranger", stranger=True, team="T2")
    made.add_channel("CPUBLIC", "public", *FULL)
    made.add_channel("CSOON", "public", ALICE, BOB)
    made.add_channel("CGUEST", "public", *FULL, GUEST)
    made.add_channel("CSHARED", "public", *FULL, STRANGER, ext_shared=True)
    made.add_channel("GSECRET", "private", ALICE, BOB)
    made.add_channel("GOTHER", "private", ALICE, BOB, DAVE)
    made.add_channel("MGROUP", "mpim", ALICE, BOB, CAROL)
    made.add_channel("MOTHER", "mpim", ALICE, CAROL, DAVE)
    for user in (*FULL, GUEST):
        made.open_dm(user)
    return made


@dataclass
class Wiretap:
    """Everything that the program says, held against who may know it."""

    run: SlackRun
    seen: set[tuple[str, str]] = field(default_factory=set)
    """Secrets that somebody who may know them was told, with where."""
    withheld: set[str] = field(default_factory=set)
    """Secrets told in private, in a place that is public now: they are not told to anybody."""
    _calls: int = 0
    _responses: int = 0
    _files: int = 0

    def check(self, actor: str) -> None:
        """Look at what was said since the last time, because of what `actor` did."""
        slack = self.run.slack
        for call in slack.calls[self._calls :]:
            words = json.dumps(call.arguments, ensure_ascii=False)
            given = call.arguments
            if call.method == "views.publish":
                self._told(words, {given["user_id"]}, f"the home of {given['user_id']}")
            elif call.method == "chat.postEphemeral":
                self._told(words, {given["user"]}, f"ephemeral to {given['user']}")
            elif call.method == "views.open":
                self._told(words, {actor}, f"a modal for {actor}")
            elif call.method.startswith("chat.") or call.method.startswith("assistant."):
                place = given.get("channel") or given["channel_id"]
                self._told(words, self._readers(place), place)
        for response in slack.responses[self._responses :]:
            words = json.dumps(response, ensure_ascii=False)
            self._told(words, {actor}, f"a reply to {actor}")
        for shared in slack.workspace.shared_files[self._files :]:
            for file in shared["files"]:
                words = slack.workspace.uploads[file["id"]].decode()
                self._told(words, self._readers(shared["channel_id"]), "a file")
        self._calls = len(slack.calls)
        self._responses = len(slack.responses)
        self._files = len(slack.workspace.shared_files)

    def _told(self, words: str, readers: set[str], where: str) -> None:
        for secret, place in SECRETS.items():
            named = secret in words or (
                f"archives/{place}" in words and where != place  # a link tells that it exists
            )
            if not named:
                continue
            withheld = secret in self.withheld and secret in words
            strangers = readers - (set() if withheld else self._readers(place))
            assert not strangers, f"{secret} ({place}) in {where}, read by {sorted(strangers)}"
            self.seen.add((secret, where))

    def _readers(self, place: str) -> set[str]:
        """Who can read a place now: of a public one every full member, and whoever is in it."""
        channel = self.run.slack.workspace.channels[place]
        users = self.run.slack.workspace.users
        inside = {user for user in channel.members if not users[user].deleted}
        if channel.kind != "public":
            return inside - {BOT_USER}
        full = {u.id for u in users.values() if not (u.restricted or u.stranger or u.deleted)}
        return (inside | full) - {BOT_USER}


class Investigator:
    """Asks in every way there is."""

    def __init__(self, run: SlackRun) -> None:
        self.run = run
        self.tap = Wiretap(run)

    async def ask(self, user: str, *places: str, questions: Iterable[str] = (QUESTION,)) -> None:
        """Ask in places, and in the person's direct message when none is named."""
        for question in questions:
            for place in places or (self.run.dm_of(user),):
                if place.startswith("D"):
                    await self.run.dm(user, question)
                else:
                    await self.run.mention(user, place, question)
                self.tap.check(user)

    async def command(self, user: str, place: str, *texts: str) -> None:
        for text in texts:
            await self.run.command(user, place, text)
            self.tap.check(user)

    async def every_command(self, user: str, place: str) -> None:
        """What can be typed, and each number that a trace or a fact may have."""
        facts = self.run.query("SELECT coalesce(max(id), 0) FROM fact")[0][0]
        traces = self.run.query("SELECT id FROM trace")
        await self.command(
            user, place, "list", "search vault", "search 金庫", "export", "export md", "why",
            "keep", "good", "bad", "undo", "help", "vault", "forget vault code word",
            f"forget {facts + 1}",
        )  # fmt: skip
        own = self.run.query("SELECT id FROM trace WHERE asker = ?", f"slack:T1:{user}")
        others = [row for row in traces if row not in own][:1]
        for (trace,) in [*own[-2:], *others]:
            await self.command(user, place, f"why {trace}", f"bad {trace}")
        for fact in range(1, min(facts, 6) + 1):
            await self.command(user, place, f"why fact {fact}")
        await self.run.home(user)
        self.tap.check(user)

    async def every_button(self, user: str, place: str) -> None:
        """The buttons under the last answer in a place, pressed by anybody who sees it."""
        answers = self.run.slack.workspace.answers(place)
        for button in buttons(answers[-1]) if answers else []:
            await self.run.slack.click(user, button, channel=place, message=answers[-1])
            await self.run.settled()
            self.tap.check(user)


def repeat(request: ChatRequest) -> Answer:
    """The whole prompt, in a few large pieces."""
    if request.schema is not None:
        return echo(request)
    size = 1_000
    prompt = request.prompt
    return Answer(pieces=tuple(prompt[at : at + size] for at in range(0, len(prompt), size)))


@asynccontextmanager
async def investigation(folder: Path, model: str) -> AsyncIterator[Investigator]:
    async with AsyncExitStack() as stack:
        settings: dict[str, Any] = {"OBOETE_CHAT_MODEL": "none"}
        if model == "echo":
            server = await stack.enter_async_context(OllamaDouble(repeat))
            settings = {"OBOETE_CHAT_MODEL": "ollama:qwen3:4b", "OLLAMA_HOST": server.url}
        slack = await stack.enter_async_context(SlackDouble(workspace()))
        run = await stack.enter_async_context(oboete_run(slack, folder, **settings))
        yield Investigator(run)


async def tell(found: Investigator) -> None:
    """Tell each secret in its place, as something to remember and in passing."""
    told = "Remember that the code word of the vault is {}."
    await found.run.dm(ALICE, told.format("quokka"))
    await found.run.mention(ALICE, "GSECRET", told.format("narwhal"))
    await found.run.mention(BOB, "MGROUP", told.format("axolotl"))
    await found.run.mention(ALICE, "CSOON", told.format("pangolin"))
    await found.run.mention(DAVE, "CPUBLIC", told.format("wombat"))
    await found.run.dm(ALICE, "金庫の合言葉はquokkaです。")
    await found.run.mention(BOB, "GSECRET", "We changed the vault: the word is narwhal now.")
    found.tap.check(ALICE)


@pytest.mark.parametrize("model", ["none", "echo"])
async def test_no_secret_is_told_to_anybody_who_could_not_read_it(
    model: str, tmp_path: Path, prepared: Path
) -> None:
    async with investigation(copied(prepared, tmp_path / "data"), model) as found:
        run, tap = found.run, found.tap
        await tell(found)
        # those who may know are told, or the rest would prove nothing
        await found.ask(ALICE)
        await found.ask(BOB, "GSECRET", "MGROUP", "CSOON", run.dm_of(BOB))
        await found.ask(DAVE, "CPUBLIC", run.dm_of(DAVE))
        assert {("quokka", "DALICE"), ("narwhal", "GSECRET"), ("axolotl", "MGROUP")} <= tap.seen
        assert {("pangolin", "CSOON"), ("wombat", "CPUBLIC"), ("narwhal", "DBOB")} <= tap.seen
        # in places that others read too, by those who know and by those who do not
        places = ("CPUBLIC", "CGUEST", "CSHARED", "GOTHER", "MOTHER")
        await found.ask(ALICE, *places)
        await found.ask(ALICE, "CPUBLIC", "CSHARED", questions=OTHERS)
        await found.ask(DAVE, *places)
        await found.ask(GUEST, "CGUEST", run.dm_of(GUEST), questions=(QUESTION, *OTHERS))
        await found.ask(STRANGER, "CSHARED", questions=(QUESTION, *OTHERS))
        await found.ask(CAROL, "CPUBLIC", run.dm_of(CAROL))
        await found.ask(ADMIN, "CPUBLIC", run.dm_of(ADMIN))
        for user, place in (
            (ALICE, "CSHARED"), (DAVE, "CPUBLIC"), (GUEST, "CGUEST"), (ADMIN, "CGUEST"),
        ):  # fmt: skip
            await found.every_command(user, place)
            await found.every_button(user, place)
        # a reply in plain words is read by everybody
        for text in ("What do you know about me?", "why?", "export my data", "forget the vault"):
            await run.mention(ALICE, "GOTHER", text)
            tap.check(ALICE)


@pytest.mark.parametrize("model", ["none", "echo"])
async def test_a_place_that_closes_takes_back_what_was_made_of_it(
    model: str, tmp_path: Path, prepared: Path
) -> None:
    async with investigation(copied(prepared, tmp_path / "data"), model) as found:
        run, tap = found.run, found.tap
        await tell(found)
        # answers elsewhere that were made of what is open now: in threads, and in memory
        await found.ask(DAVE, "CPUBLIC", run.dm_of(DAVE))
        assert ("pangolin", "DDAVE") in tap.seen
        await found.command(DAVE, "CPUBLIC", "keep", "why")
        await found.command(DAVE, run.dm_of(DAVE), "keep")
        await found.ask(BOB, run.dm_of(BOB))
        assert ("narwhal", "DBOB") in tap.seen
        await found.command(BOB, run.dm_of(BOB), "keep", "why")
        # the public channel becomes private
        await run.slack.convert_to_private("CSOON")
        await found.ask(DAVE, "CPUBLIC", run.dm_of(DAVE), questions=(QUESTION, *OTHERS))
        await found.every_command(DAVE, "CPUBLIC")
        await found.every_button(DAVE, run.dm_of(DAVE))
        await found.ask(ALICE, "CPUBLIC", "GOTHER", "CSOON")
        # Bob leaves the private channel and the group
        await run.slack.leave(BOB, "GSECRET")
        await run.slack.leave(BOB, "MGROUP")
        await found.ask(BOB, run.dm_of(BOB), "CPUBLIC", "GOTHER", questions=(QUESTION, *OTHERS))
        await found.every_command(BOB, "CPUBLIC")
        await found.every_button(BOB, run.dm_of(BOB))
        # a guest comes into a private channel, and Dave becomes one
        await run.slack.join(GUEST, "GOTHER")
        await found.ask(ALICE, "GOTHER")
        await run.slack.change_user(DAVE, restricted=True)
        await found.ask(DAVE, "CGUEST", run.dm_of(DAVE))
        await found.every_command(DAVE, "CGUEST")
        # a partner is invited
        await run.slack.share("CPUBLIC")
        await found.ask(ALICE, "CPUBLIC")
        # somebody is deactivated while their question waits
        await run.slack.change_user(CAROL, deleted=True)
        before = len(run.slack.workspace.answers(run.dm_of(CAROL)))
        await run.say(CAROL, run.dm_of(CAROL), QUESTION)
        assert len(run.slack.workspace.answers(run.dm_of(CAROL))) == before


@pytest.mark.parametrize("model", ["none", "echo"])
async def test_a_private_channel_that_opens_tells_only_what_is_said_from_then_on(
    model: str, tmp_path: Path, prepared: Path
) -> None:
    async with investigation(copied(prepared, tmp_path / "data"), model) as found:
        run, tap = found.run, found.tap
        await tell(found)
        await found.ask(BOB, "GSECRET", run.dm_of(BOB))
        assert {("narwhal", "GSECRET"), ("narwhal", "DBOB")} <= tap.seen
        first = run.query("SELECT platform_id, text FROM message WHERE text LIKE '%narwhal%'")[0]
        await run.slack.convert_to_public("GSECRET")
        tap.withheld.add("narwhal")
        for user in (DAVE, ALICE, BOB):
            await found.ask(
                user, "GSECRET", "CPUBLIC", run.dm_of(user), questions=(QUESTION, *OTHERS)
            )
            await found.every_command(user, "GSECRET")
            await found.every_button(user, run.dm_of(user))
        # what is said now is everybody's, and what is done to an old message happens to that one
        await run.mention(ALICE, "GSECRET", "Remember that the code word of the vault is pelican.")
        await found.ask(DAVE, "CPUBLIC")
        assert ("pelican", "CPUBLIC") in tap.seen
        ts, text = first
        await run.slack.edit("GSECRET", ts, text.replace("vault", "narwhal vault"))
        await run.settled()
        await found.ask(DAVE, "GSECRET", "CPUBLIC", questions=(QUESTION, *OTHERS))
        # private again: those who are in it read all of it
        run.slack.workspace.channels["GSECRET"].members.discard(DAVE)
        await run.slack.convert_to_private("GSECRET")
        tap.withheld.clear()
        tap.seen.clear()
        await found.ask(BOB, questions=("Was the code word of the vault narwhal?",))
        assert ("narwhal", "DBOB") in tap.seen
        await found.ask(DAVE, "CPUBLIC", run.dm_of(DAVE), questions=(QUESTION, *OTHERS))


async def test_a_membership_that_ended_unnoticed_is_noticed_before_it_is_used(
    tmp_path: Path, prepared: Path
) -> None:
    async with investigation(copied(prepared, tmp_path / "data"), "echo") as found:
        run, tap = found.run, found.tap
        await tell(found)
        await found.ask(BOB)
        assert ("narwhal", "DBOB") in tap.seen
        run.slack.workspace.channels["GSECRET"].members.discard(BOB)  # and no event tells of it
        await found.ask(BOB, questions=(QUESTION, *OTHERS))
        await found.every_command(BOB, run.dm_of(BOB))

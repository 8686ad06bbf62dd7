"""Are the turns that hold the answer found? LoCoMo (Maharana et al. 2024) and RealPersonaChat."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.evaluation import data
from bot.evaluation.bench import PAUSE, Bench, Said, Stage, place
from bot.evaluation.measures import Metrics, Sets, count, mean
from memory.types import Audience

CUTOFFS = (5, 10, 20)
_TURN_ID = re.compile(r"D\d+:\d+")
_CONVERSATIONS = "memory/locomo_turns_en"
_QUESTIONS = "memory/locomo_qa_en"
_SESSIONS = "memory/realpersonachat_sessions_ja"
_FACTS = "memory/realpersonachat_facts_ja"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the turns that support its answer."""

    text: str
    audience: Audience
    asker: str
    asked_at: datetime
    evidence: frozenset[str]


async def evaluate(bench: Bench) -> Sets:
    """`share@5/10/20`: mean share of a question's evidence among the first so many records."""
    async with bench.memory() as stage:
        asked = {"locomo_qa_en": await conversations(stage)}
        if data.has(bench.folder, _FACTS):
            asked["realpersonachat_facts_ja"] = await chats(stage)
        return {name: await shares(stage, questions) for name, questions in asked.items()}


async def conversations(stage: Stage) -> list[Question]:
    """Hear the conversations of LoCoMo; their questions, asked after the last turn."""
    turns: defaultdict[str, list[Said]] = defaultdict(list)
    begun: defaultdict[tuple[str, int], int] = defaultdict(int)
    for row in data.rows(stage.bench.folder, _CONVERSATIONS):
        session = row["conv"], row["session"]
        said = datetime.strptime(row["date"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        text = f"{row['text']} [{row['img']}]" if row["img"] else row["text"]
        sent_at = said + begun[session] * PAUSE
        turns[row["conv"]].append(Said(row["dia_id"], row["speaker"], text, sent_at))
        begun[session] += 1
    ends = {}
    for done, (name, each) in enumerate(turns.items()):
        stage.bench.progress("conversations", done, len(turns))
        await stage.hear(place(name), each)
        ends[name] = stage.clock.now + PAUSE
    await stage.embed("conversations")
    questions = []
    for row in data.rows(stage.bench.folder, _QUESTIONS):
        name = row["conv"]
        named = {id_ for text in row["evidence"] for id_ in _TURN_ID.findall(text)}
        evidence = frozenset(named & {turn.name for turn in turns[name]})
        if evidence:
            questions.append(Question(row["question"], place(name), "asker", ends[name], evidence))
    return questions


async def chats(stage: Stage) -> list[Question]:
    """Hear the chats of RealPersonaChat; each known fact about a user is a question of theirs."""
    ends: dict[str, datetime] = {}
    known: set[str] = set()
    rows = data.rows(stage.bench.folder, _SESSIONS)
    for done, row in enumerate(rows):
        stage.bench.progress("chats", done, len(rows))
        start = datetime.fromisoformat(row["start"]).replace(tzinfo=UTC)
        turns = [
            Said(f"{row['session']}:{t['uid']}", t["speaker"], t["text"], start + at * PAUSE)
            for at, t in enumerate(row["turns"])
        ]
        known |= {turn.name for turn in turns}
        await stage.hear(_chats_of(row["user"]), turns)
        ends[row["user"]] = max(stage.clock.now + PAUSE, ends.get(row["user"], start))
    await stage.embed("chats")
    questions = []
    for row in data.rows(stage.bench.folder, _FACTS):
        named = {f"{each['session']}:{each['utterance_id']}" for each in row["evidence"]}
        user = row["speaker"]
        if named & known:
            evidence = frozenset(named & known)
            questions.append(Question(row["fact"], _chats_of(user), user, ends[user], evidence))
    return questions


def _chats_of(user: str) -> Audience:
    return place(f"chats of {user}")


async def shares(stage: Stage, questions: Sequence[Question]) -> Metrics:
    """Ask them, and count what is found of the evidence of each."""
    found: dict[int, list[float]] = {k: [] for k in CUTOFFS}
    for done, question in enumerate(questions):
        stage.bench.progress("questions", done, len(questions))
        stage.clock.now = question.asked_at
        hits = await stage.ask(question.text, question.audience, max(CUTOFFS), asker=question.asker)
        names = [hit.message.platform_id for hit in hits if hit.message is not None]
        for k, values in found.items():
            values.append(len(question.evidence & set(names[:k])) / len(question.evidence))
    return {**{f"share@{k}": mean(v) for k, v in found.items()}, "n": count(questions)}

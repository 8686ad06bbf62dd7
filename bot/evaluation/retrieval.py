"""Are the turns that hold the answer found? LoCoMo (Maharana et al. 2024) and RealPersonaChat."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import UTC, datetime

from bot.evaluation import data
from bot.evaluation.bench import PAUSE, Bench, Said, Stage, place
from bot.evaluation.measures import Metrics, Sets, count, mean
from memory.types import Hit

CUTOFFS = (5, 10, 20)
_TURN_ID = re.compile(r"D\d+:\d+")
_CONVERSATIONS = "memory/locomo_turns_en"
_QUESTIONS = "memory/locomo_qa_en"
_SESSIONS = "memory/realpersonachat_sessions_ja"
_FACTS = "memory/realpersonachat_facts_ja"


async def evaluate(bench: Bench) -> Sets:
    """`share@5/10/20`: mean share of a question's evidence among the first so many records."""
    sets: Sets = {}
    async with bench.memory() as stage:
        sets["locomo_qa_en"] = await _conversations(stage)
        if data.has(bench.folder, _FACTS):
            sets["realpersonachat_facts_ja"] = await _chats(stage)
    return sets


async def _conversations(stage: Stage) -> Metrics:
    questions = data.rows(stage.bench.folder, _QUESTIONS)
    by_conversation: defaultdict[str, list[Said]] = defaultdict(list)
    begun: defaultdict[tuple[str, int], int] = defaultdict(int)
    for row in data.rows(stage.bench.folder, _CONVERSATIONS):
        session = row["conv"], row["session"]
        said = datetime.strptime(row["date"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        text = f"{row['text']} [{row['img']}]" if row["img"] else row["text"]
        sent_at = said + begun[session] * PAUSE
        by_conversation[row["conv"]].append(Said(row["dia_id"], row["speaker"], text, sent_at))
        begun[session] += 1
    ends = {}
    for name, turns in by_conversation.items():
        await stage.hear(place(name), turns)
        ends[name] = stage.clock.now + PAUSE
    await stage.embed("conversations")
    shares = []
    for done, row in enumerate(questions):
        known = {turn.name for turn in by_conversation[row["conv"]]}
        evidence = {id_ for text in row["evidence"] for id_ in _TURN_ID.findall(text)} & known
        if not evidence:
            continue
        stage.clock.now = ends[row["conv"]]
        hits = await stage.ask(row["question"], place(row["conv"]), max(CUTOFFS))
        shares.append(_shares(hits, evidence))
        stage.bench.progress("questions", done + 1, len(questions))
    return _metrics(shares)


async def _chats(stage: Stage) -> Metrics:
    facts = data.rows(stage.bench.folder, _FACTS)
    ends: dict[str, datetime] = {}
    known: set[str] = set()
    for row in data.rows(stage.bench.folder, _SESSIONS):
        start = datetime.fromisoformat(row["start"]).replace(tzinfo=UTC)
        turns = [
            Said(f"{row['session']}:{t['uid']}", t["speaker"], t["text"], start + at * PAUSE)
            for at, t in enumerate(row["turns"])
        ]
        known |= {turn.name for turn in turns}
        await stage.hear(place(f"chats of {row['user']}"), turns)
        ends[row["user"]] = max(stage.clock.now + PAUSE, ends.get(row["user"], start))
    await stage.embed("chats")
    shares = []
    for row in facts:
        evidence = {f"{each['session']}:{each['utterance_id']}" for each in row["evidence"]}
        if not evidence & known:
            continue
        user = row["speaker"]
        stage.clock.now = ends[user]
        hits = await stage.ask(row["fact"], place(f"chats of {user}"), max(CUTOFFS), asker=user)
        shares.append(_shares(hits, evidence & known))
    return _metrics(shares)


def _shares(hits: list[Hit], evidence: set[str]) -> list[float]:
    names = [hit.message.platform_id for hit in hits if hit.message is not None]
    return [len(evidence & set(names[:k])) / len(evidence) for k in CUTOFFS]


def _metrics(shares: list[list[float]]) -> Metrics:
    by_cutoff = list(zip(*shares, strict=True)) or [()] * len(CUTOFFS)
    found = {f"share@{k}": mean(values) for k, values in zip(CUTOFFS, by_cutoff, strict=True)}
    return {**found, "n": count(shares)}

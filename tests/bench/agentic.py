"""Is looking again worth its calls? One search against the loop, with a scripted model.

`python -m tests.bench.agentic` prints the table of docs/retrieval.md. The model is
`tests.ollama_double`: what it rewrites and how it judges is written below, the rest (planning,
searching, when to ask and when to stop) is the product's. Needs the bundled embedder.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from adapters.embedded_models import EmbeddedEmbedder
from adapters.ollama_models import OllamaChat
from bot.evaluation.bench import PAUSE, START, Bench, Said, Stage, person, place
from bot.messages import Author, EventKind, IncomingMessage, Surface
from bot.plan import plan
from bot.research import Findings, Researcher
from memory.retrieve import RELEVANT
from memory.types import Audience, Message, Readable
from tests.ollama_double import Answer, ChatRequest, OllamaDouble

K = 5

DOCUMENTS = [
    (
        "leave",
        "Leave policy",
        "Every employee has 20 days of paid leave. Leave is booked in Kanri.",
    ),
    (
        "travel",
        "Travel policy",
        "Train tickets are refunded. Hotels cost at most 12,000 yen a night.",
    ),
    ("vpn", "Remote access", "Outside the office, the tunnel is opened with Wirebird."),
    ("db", "社内データベース", "顧客データは毎晩二時に複製される。複製は大阪にある。"),
    ("coffee", "Kitchen", "The coffee machine is cleaned on Mondays."),
    ("printer", "Printers", "The printer on the third floor prints in colour."),
    ("guests", "Guests", "Guests sign in at the front desk and wear a badge."),
    ("noise", "静かな部屋", "集中したい人は四階の部屋を使える。予約はいらない。"),
]


@dataclass(frozen=True, slots=True)
class Case:
    """A question, where its answer is, and what the scripted model makes of it."""

    sort: str
    question: str
    answers: frozenset[str]
    """Documents that are needed; empty when nothing answers."""
    before: tuple[str, ...] = ()
    query: str = ""
    """How the model rewrites it; empty when it is not to be asked."""
    parts: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    """What the model looks for next, in turn."""


CASES = [
    Case("simple", "How many days of paid leave are there?", frozenset({"leave"})),
    Case("simple", "顧客データの複製はどこにありますか？", frozenset({"db"})),
    Case(
        "compound",
        "How many days of leave do I have, and how much may a hotel cost?",
        frozenset({"leave", "travel"}),
        query="How many days of leave do I have and how much may a hotel cost?",
        parts=("How many days of paid leave are there?", "How much may a hotel cost?"),
    ),
    Case(
        "compound",
        "複製は何時で、静かな部屋はどこですか？",
        frozenset({"db", "noise"}),
        query="複製は何時で、静かな部屋はどこですか？",
        parts=("データの複製は何時ですか？", "静かな部屋はどこですか？"),
    ),
    Case(
        "follow-up",
        "And where is it booked?",
        frozenset({"leave"}),
        before=("How many days of paid leave are there?",),
        query="Where is paid leave booked?",
    ),
    Case(
        "other words",
        "Which software connects me from home?",
        frozenset({"vpn"}),
        again=("remote access tunnel outside the office",),
    ),
    Case(
        "unanswerable",
        "Who won the chess tournament in Oslo?",
        frozenset(),
        again=("chess winner",),
    ),
    Case(
        "unanswerable", "火星の衛星はいくつありますか？", frozenset(), again=("フォボスとダイモス",)
    ),
]


class Script:
    """Answers as the case in hand says."""

    def __init__(self) -> None:
        self.case = CASES[0]
        self.asked = 0

    def __call__(self, request: ChatRequest) -> Answer:
        wanted = (request.schema or {}).get("properties", {})
        if "sub_questions" in wanted:
            said: dict[str, object] = {
                "query": self.case.query or self.case.question,
                "sub_questions": list(self.case.parts),
                "route": "documents",
            }
        else:
            following = self.case.again[self.asked : self.asked + 1]
            self.asked += 1
            said = {"sufficient": not following, "query": "".join(following)}
        return Answer(json.dumps(said, ensure_ascii=False))


async def look(stage: Stage, case: Case, here: Audience, *, plain: bool) -> Findings:
    """What is found for a case, with the calls that planning cost."""
    history: list[Message] = []
    if case.before:
        said = [
            Said(f"{plain} {n}", "asker", text, START + n * PAUSE)
            for n, text in enumerate(case.before)
        ]
        history = await stage.hear(place(f"{case.question} {plain}"), said)
    message = IncomingMessage(
        platform="eval",
        tenant="local",
        event_id="q",
        kind=EventKind.MESSAGE,
        surface=Surface.DM,
        channel="q",
        message_id="q",
        author=Author(person("asker"), "asker"),
        text=case.question,
        sent_at=stage.clock(),
        audience=here,
        readable=Readable.of(here),
        conversation="q",
        plain=plain,
    )
    model = None if plain else stage.bench.model
    planned = await plan(message, history, model, stage.clock())
    found = await Researcher(stage.memory, model).find(planned, message, K, plain=plain)
    found.calls += planned.calls
    return found


def result(case: Case, found: Findings) -> str:
    """How many of the documents that are needed came first, or that nothing seemed to answer."""
    relevant = [hit for hit in found.hits if hit.evidence >= RELEVANT]
    if not case.answers:
        return "refused" if not relevant else "false answer"
    first = {hit.chunk.source for hit in found.hits[: len(case.answers)] if hit.chunk}
    enough = "" if relevant else ", unsure"
    return f"{len(first & case.answers)} of {len(case.answers)}{enough}"


async def main() -> None:
    """Print the table."""
    script = Script()
    with tempfile.TemporaryDirectory() as folder:
        async with OllamaDouble(script) as server:
            model = OllamaChat(server.url, "qwen3:4b", context_tokens=4096)
            bench = Bench(Path(folder), EmbeddedEmbedder(), model, lambda *_: None)
            async with bench.memory() as stage:
                here = await stage.take_in("handbook", DOCUMENTS)
                await stage.embed("handbook")
                print("| question | plain: searches, calls, found | loop: searches, calls, found |")
                print("|---|---|---|")
                for case in CASES:
                    script.case, script.asked = case, 0
                    cells = []
                    for plain in (True, False):
                        found = await look(stage, case, here, plain=plain)
                        cells.append(f"{found.searches}, {found.calls}, {result(case, found)}")
                    print(f"| {case.sort}: {case.question} | {' | '.join(cells)} |")
            await model.close()
            await bench.embedder.close()


if __name__ == "__main__":
    asyncio.run(main())

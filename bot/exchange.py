"""One message and its answer in the making."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from bot.documents import Consulted
from bot.i18n import Translator
from bot.messages import IncomingMessage
from bot.quoting import Reader, Window, quotable
from bot.rechecking import Recheck
from memory.analysis import Question
from memory.remembering import Remembered
from memory.types import Hit, Kind, Message, Ref


@dataclass(slots=True)
class Exchange:
    """What is known of one message while it is being answered."""

    message: IncomingMessage
    say: Translator
    asked: Question
    keep: bool = True
    """Store the exchange, if neither place nor person is paused."""
    recheck: Recheck | None = None
    quiet: bool = False
    """What was learned is not told: its person wants it so."""
    started: float = field(default_factory=time.perf_counter)
    heard: Message | None = None
    learned: list[Remembered] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)
    used: list[Hit] = field(default_factory=list)
    history: list[Message] = field(default_factory=list)
    calls: int = 0
    route: str = "talk"
    query: str = ""
    window: Window | None = None
    rounds: list[dict[str, Any]] = field(default_factory=list)
    consulted: Consulted | None = None
    """What the knowledge bases gave, when documents are among the hits."""
    by_model: bool = False
    """The reply is the model's, not quotations."""

    @property
    def reader(self) -> Reader:
        return Reader.of(self.message, self.say)

    def quotable(self) -> list[Hit]:
        """The hits that can be quoted as the answer."""
        asker = self.message.author.person
        return quotable(self.hits, self.asked, asker, self.message.text, self.window)

    def made_from(self) -> list[Ref]:
        """All that words of the reply can come from, when the exchange is stored.

        A model reads the conversation; quotations come from what they quote.
        """
        if self.heard is None:
            return []
        hits = self.hits if self.by_model else self.used
        turns = [*self.history, self.heard] if self.by_model else [self.heard]
        return [
            *(hit.ref for hit in hits),
            *(Ref(Kind.FACT, item.fact.id) for item in self.learned),
            *(Ref(Kind.MESSAGE, turn.id) for turn in turns),
        ]

    def numbers(self) -> dict[Ref, int]:
        """The number by which the reply's text cites each record."""
        shown = self.hits if self.by_model else self.used
        return {hit.ref: number for number, hit in enumerate(shown, start=1)}

    def steps(self, model: str) -> dict[str, Any]:
        """What a trace keeps: ids and numbers; words only of the query."""
        used = {hit.ref for hit in self.used}
        return {
            "query": self.query if self.heard else "",
            "searches": [
                step if self.heard else {k: v for k, v in step.items() if k != "query"}
                for step in self.rounds
            ],
            "route": self.route,
            **(self.consulted.steps if self.consulted is not None else {}),
            "model": model,
            "calls": self.calls,
            "by_model": self.by_model,
            "ms": self.milliseconds,
            "hits": [
                {
                    "kind": hit.ref.kind.name.lower(),
                    "id": hit.ref.id,
                    "score": round(hit.score, 3),
                    "signals": {name: round(value, 3) for name, value in hit.signals},
                    "used": hit.ref in used,
                }
                for hit in self.hits
            ],
        }

    @property
    def milliseconds(self) -> int:
        """Since the message was taken up."""
        return round((time.perf_counter() - self.started) * 1000)

"""A chat model without any judgement: whatever its prompt demands, wherever it stands, it does.

A demand is JSON between ⟦ and ⟧, anywhere in any turn. What it may hold:

    say                                   the words of an answer
    query, sub_questions, route, sufficient   of a rewritten question, and of an assessment
    number                                of a knowledge base
    facts                                 proposed for every message, quoted as well as can be
    verdict                               on every pair of statements

It knows how its answers are checked and quotes so that they pass if they can: the worst that a
model under somebody else's orders could do.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from bot.documents import BaseChoice
from bot.extraction_prompts import ExtractedFact, Extraction, Judgement, Judgements
from bot.messages import Turn
from bot.plan import StandaloneQuery
from bot.ports import Schema
from bot.research import Assessment

_DEMAND = re.compile(r"⟦(\{.*?\})⟧", re.DOTALL)
_LINE = re.compile(
    r"^\[(?P<number>\d+)\] (?P<context>context, )?[^,]*, (?P<who>\S+): (?P<text>.*)$"
)
_PAIR = re.compile(r"^\[(\d+)\] new ", re.MULTILINE)


@dataclass(slots=True)
class ObeyingModel:
    """Implements `bot.ports.ChatModel`."""

    prompts: list[str] = field(default_factory=list)
    """All turns of each call, joined."""
    obeyed: int = 0
    """Calls whose prompt held a demand."""

    name = "scripted:obeying"
    is_local = True
    context_tokens = 8192

    def _demands(self, turns: Sequence[Turn]) -> dict[str, Any]:
        prompt = "\n".join(f"{turn.name or ''} {turn.content}" for turn in turns)
        self.prompts.append(prompt)
        found: dict[str, Any] = {}
        for demand in _DEMAND.findall(prompt):
            found |= json.loads(demand)
        self.obeyed += bool(found)
        return found

    async def stream(self, turns: Sequence[Turn], *, max_tokens: int) -> AsyncIterator[str]:
        yield self._demands(turns).get("say", "I see [1].")

    async def structured(
        self, turns: Sequence[Turn], schema: type[Schema], *, max_tokens: int
    ) -> Schema:
        demanded = self._demands(turns)
        answer = self._answer(turns[0].content, schema, demanded)
        return schema.model_validate(answer.model_dump())

    def _answer(self, prompt: str, schema: type[BaseModel], demanded: dict[str, Any]) -> BaseModel:
        if issubclass(schema, StandaloneQuery):
            wanted = {k: demanded[k] for k in ("sub_questions", "route") if k in demanded}
            return StandaloneQuery(query=_query(demanded), **wanted)
        if issubclass(schema, Assessment):
            sufficient = bool(demanded.get("sufficient", "query" not in demanded))
            return Assessment(sufficient=sufficient, query=_query(demanded))
        if issubclass(schema, BaseChoice):
            return BaseChoice(number=int(demanded.get("number", 1)))
        if issubclass(schema, Judgements):
            verdict = demanded.get("verdict", "DIFFERENT")
            pairs = [int(number) for number in _PAIR.findall(prompt)]
            return Judgements(judgements=[Judgement(pair=n, relation=verdict) for n in pairs])
        assert issubclass(schema, Extraction)
        return Extraction(facts=_proposals(prompt, demanded.get("facts", [])))

    async def check(self) -> None:
        return

    async def close(self) -> None:
        return


def _query(demanded: dict[str, Any]) -> str:
    return str(demanded.get("query") or demanded.get("say") or "")


def _proposals(prompt: str, demanded: Sequence[dict[str, Any]]) -> list[ExtractedFact]:
    """Each demanded fact for each message, in the words demanded and in the message's own, once
    as said by its author and once as agreed to.
    """
    lines = [found for line in prompt.splitlines() if (found := _LINE.match(line))]
    proposals = [int(line["number"]) for line in lines if line["who"] == "Oboete"]
    return [
        ExtractedFact.model_validate(
            {**fact, "text": text, "message": int(line["number"]), "quote": quote, "accepts": to}
        )
        for line in lines
        if not line["context"]
        for fact in demanded
        for quote in (line["text"], fact["text"])
        for text in (fact["text"], quote)
        for to in (None, *proposals)
    ]

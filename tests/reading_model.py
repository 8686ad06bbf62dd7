"""A chat model in this process that reads facts off an extraction prompt by rules, and judges."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from bot.errors import BadModelAnswer, ModelTimeout, ModelUnavailable
from bot.extraction_prompts import ExtractedFact, Extraction, Judgement, Judgements
from bot.messages import Turn
from bot.ports import Schema
from memory import analysis

_LINE = re.compile(r"^\[(?P<number>\d+)\] (?P<when>[^,]+), (?P<who>S\d+): (?P<text>.*)$")
_PAIR = re.compile(r"^\[(\d+)\] new ", re.MULTILINE)

Read = Callable[[int, str, str], list[ExtractedFact]]
"""Number, alias and words of a message to the facts that it states."""


def stated(number: int, alias: str, text: str) -> list[ExtractedFact]:
    """What `memory.analysis` finds in a message, as a model would give it."""
    return [
        ExtractedFact(
            message=number,
            quote=one.text,
            text=one.text,
            subject=alias if one.subject in {None, analysis.SELF} else one.subject,
            attribute=one.attribute,
            negated=one.negated,
        )
        for one in analysis.statements(text, speaker_name="")
    ]


@dataclass(slots=True)
class ReadingModel:
    """Answers extraction and judging prompts. Counts what it was asked."""

    read: Read = stated
    verdict: str = "DIFFERENT"
    state: str = "works"
    """Or `away`, `slow`, `nonsense`: then every call fails as an adapter's would."""
    extractions: int = 0
    judgements: int = 0
    failures: int = 0

    name = "scripted:reader"
    is_local = True
    context_tokens = 8192

    @property
    def calls(self) -> int:
        return self.extractions + self.judgements

    async def stream(self, turns: Sequence[Turn], *, max_tokens: int) -> AsyncIterator[str]:
        raise AssertionError("asked for an answer")
        yield ""

    async def structured(
        self, turns: Sequence[Turn], schema: type[Schema], *, max_tokens: int
    ) -> Schema:
        prompt = turns[0].content
        failing = {"away": ModelUnavailable, "slow": ModelTimeout, "nonsense": BadModelAnswer}
        if self.state in failing:
            self.failures += 1
            raise failing[self.state]
        if issubclass(schema, Extraction):
            self.extractions += 1
            lines = prompt.split("<messages>\n", 1)[1].split("\n</messages>", 1)[0].splitlines()
            found = [
                fact
                for line in lines
                if (said := _LINE.match(line)) and not said["when"].startswith("context")
                for fact in self.read(int(said["number"]), said["who"], said["text"])
            ]
            return schema(facts=found)
        assert issubclass(schema, Judgements)
        self.judgements += 1
        pairs = [int(number) for number in _PAIR.findall(prompt)]
        relation = self.verdict
        return schema(judgements=[Judgement(pair=n, relation=relation) for n in pairs])

    async def check(self) -> None:
        return

    async def close(self) -> None:
        return

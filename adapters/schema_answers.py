"""Schema-constrained answers: parsing, trivial repairs, and one more try.

Both chat adapters use this. Small models put prose or thinking text around their JSON, write
invalid escapes, stop half-way or loop on white space even when the server constrains them.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError

from adapters.thinking import without_thinking
from adapters.wire_text import well_formed
from bot.errors import BadModelAnswer
from bot.messages import Turn
from bot.ports import Schema

log = logging.getLogger(__name__)

MAX_OBJECTS = 32
"""How many `{` of an answer are tried as the beginning of an object: parsing stays linear."""

ECHOED_CHARACTERS = 2_000
"""How much of a bad answer is shown to the model again; the rest would only fill the context."""

_BACKSLASH = re.compile(r'\\(u[0-9a-fA-F]{4}|["\\/bfnrt])?')


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """All that a model said."""

    text: str
    cut: bool = False
    """It ran into the token cap, or was stopped because it repeated white space."""


class UnfitAnswer(Exception):
    """An answer that does not fit: `told` is for the model, the message is for the log."""

    def __init__(self, message: str, told: str) -> None:
        super().__init__(message)
        self.told = told


Ask = Callable[[Sequence[Turn]], Awaitable[RawAnswer]]
"""Puts turns to the model and gives its whole answer."""


async def ask_until_fit(ask: Ask, turns: Sequence[Turn], schema: type[Schema]) -> Schema:
    """Ask; when the answer does not fit, say why and ask once more.

    Raises BadModelAnswer, which holds none of the answer's text, and whatever `ask` raises.
    """
    answer = await ask(turns)
    try:
        return parse_answer(answer, schema)
    except UnfitAnswer as error:
        log.info("asking again for %s: %s", schema.__name__, error)
        again = [*turns, *_complaint(answer, error, schema)]
    try:
        return parse_answer(await ask(again), schema)
    except UnfitAnswer as error:
        raise BadModelAnswer(
            f"The model's answer is not a {schema.__name__}, asked twice: {error}.",
            fix="Choose a model that is better at following a format.",
        ) from error


def parse_answer(answer: RawAnswer, schema: type[Schema]) -> Schema:
    """The one object in `answer` that fits `schema`. Raises UnfitAnswer."""
    text = without_thinking(answer.text).strip()
    if not text:
        raise UnfitAnswer("it is empty", "It was empty.")
    fitting: list[Schema] = []
    problem: UnfitAnswer | None = None
    for value in _json_values(text):
        try:
            candidate = schema.model_validate_json(json.dumps(value))
        except ValidationError as error:
            problem = problem or _misfit(error)
            continue
        if candidate not in fitting:
            fitting.append(candidate)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        # one of them may be quoted from the prompt: choosing would be guessing
        raise UnfitAnswer("it holds several objects", "It held more than one JSON object.")
    if answer.cut:
        raise UnfitAnswer("it was cut off", "It was cut off before its end. Be much shorter.")
    raise problem or UnfitAnswer("it is not JSON", "It was not valid JSON.")


def _json_values(text: str) -> list[Any]:
    """The whole text as JSON, else every outermost object in it; [] when there is none."""
    for variant in dict.fromkeys((text, _BACKSLASH.sub(_valid_escape, text))):
        try:
            return [_scrubbed(_DECODER.decode(variant))]
        except (ValueError, RecursionError):
            if found := _objects(variant):
                return found
    return []


def _objects(text: str) -> list[Any]:
    found: list[Any] = []
    position = text.find("{")
    for _ in range(MAX_OBJECTS):
        if position < 0:
            break
        try:
            value, end = _DECODER.raw_decode(text, position)
            found.append(_scrubbed(value))
        except (ValueError, RecursionError):
            end = position + 1
        position = text.find("{", end)
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)
"""Takes raw line breaks within strings, which small models write, but not NaN."""


def _valid_escape(match: re.Match[str]) -> str:
    r"""Doubles a backslash that begins no JSON escape, such as in `\u30` or `\d`."""
    return match[0] if match[1] else "\\\\"


def _scrubbed(value: Any) -> Any:
    """JSON data with valid Unicode only; `\\ud83d` alone is legal JSON and no text."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return [_scrubbed(item) for item in value]
    if isinstance(value, dict):
        return {well_formed(key): _scrubbed(item) for key, item in value.items()}
    return value


def _misfit(error: ValidationError) -> UnfitAnswer:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    told = "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'the object'}: {problem['msg']}"
        for problem in problems[:5]
    )
    kinds = ", ".join(sorted({problem["type"] for problem in problems}))
    return UnfitAnswer(f"{error.error_count()} fields do not fit ({kinds})", f"{told}.")


def _complaint(answer: RawAnswer, error: UnfitAnswer, schema: type[BaseModel]) -> list[Turn]:
    said = without_thinking(answer.text).strip()[:ECHOED_CHARACTERS]
    fit = json.dumps(schema.model_json_schema(), ensure_ascii=False)
    request = Turn.user(
        f"That answer cannot be used. {error.told} Answer again with one JSON object and nothing "
        f"else. It must fit this JSON Schema: {fit}"
    )
    return [Turn.assistant(said), request] if said else [request]

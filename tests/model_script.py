"""What a model double is asked and says, and built-in scripts of it. See `tests.ollama_double`."""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ChatRequest:
    """A chat request as the model sees it; `body` is what came over the wire."""

    body: dict[str, Any]
    messages: tuple[dict[str, Any], ...]
    """After the server cut them to `num_ctx`, oldest first, as Ollama does."""
    schema: dict[str, Any] | None
    max_tokens: int | None
    context_tokens: int
    prompt_tokens: int
    """Estimated, before the cut."""

    @property
    def truncated(self) -> bool:
        """The prompt did not fit: a real server would have dropped its beginning silently."""
        return self.prompt_tokens > self.context_tokens

    @property
    def prompt(self) -> str:
        return "\n".join(message.get("content", "") for message in self.messages)


@dataclass(frozen=True)
class Answer:
    """What the model says and how the server goes wrong. Delays are in seconds."""

    text: str = ""
    pieces: tuple[str, ...] = ()
    """Sent one by one in place of `text`, which is sent in pieces of a few characters."""
    thinking: str = ""
    """Sent apart, as a server does that knows the model's thinking."""
    done_reason: str = "stop"
    delay: float = 0.0
    """Before the first piece: the model is being loaded."""
    forever: str = ""
    """Sent after the text until the token cap."""
    ignore_cap: bool = False
    hang: bool = False
    """After the text, say nothing more and keep the connection."""
    reset: bool = False
    """After the text, reset the connection."""
    stop_early: bool = False
    """After the text, end the response properly but without its last line."""
    error_in_stream: str = ""
    """After the text, an error as a line of the stream."""
    raw: bytes = b""
    """Sent as the whole body, whatever it is."""
    status: int = 200
    error: str = ""


Script = Callable[[ChatRequest], "Answer | str | Awaitable[Answer | str]"]
"""Gives the answer to a request."""


class Refuse(Exception):
    """A text that fails the whole request it is in, with this status and message."""

    def __init__(self, message: str, status: int = 500) -> None:
        super().__init__(message)
        self.status = status


EmbedScript = Callable[[str], Any]
"""Gives a text's embedding, good or bad. Raises Refuse."""


def word_vector(text: str, dimension: int = 64) -> list[float]:
    """An embedding of hashed character trigrams: alike texts get alike vectors, in any script."""
    vector = [0.0] * dimension
    padded = f" {text.lower()} "
    for start in range(len(padded) - 2):
        gram = padded[start : start + 3].encode("utf-8", "replace")
        vector[zlib.crc32(gram) % dimension] += 1.0
    vector[0] += 0.5
    return vector


def chat_request(
    body: dict[str, Any], *, schema: Any, max_tokens: int | None, context_tokens: int
) -> ChatRequest:
    messages = list(body["messages"])
    total = sum(map(_tokens, messages))
    left = total
    # Ollama keeps system messages and the last one, and drops the oldest of the others
    for message in list(messages[:-1]):
        if left > context_tokens and message["role"] != "system":
            messages.remove(message)
            left -= _tokens(message)
    return ChatRequest(body, tuple(messages), schema, max_tokens, context_tokens, total)


def _tokens(message: dict[str, Any]) -> int:
    """About as many tokens as a common tokenizer makes, in English and in Japanese."""
    return 4 + len(message.get("content", "").encode("utf-8", "replace")) // 4


async def spoken(answer: Answer, chat: ChatRequest) -> AsyncIterator[tuple[str, str]]:
    """What the model says, by kind, one token at a time, within the token cap."""
    cap = None if answer.ignore_cap else chat.max_tokens
    pieces = answer.pieces or tuple(_cut(answer.text, 4))
    tokens = [("thinking", piece) for piece in _cut(answer.thinking, 4)]
    tokens += [("content", piece) for piece in pieces]
    for token in tokens[:cap]:
        yield token
    count = len(tokens)
    while answer.forever and (cap is None or count < cap):
        yield "content", answer.forever
        count += 1


def _cut(text: str, length: int) -> Sequence[str]:
    return [text[start : start + length] for start in range(0, len(text), length)]


# -- built-in scripts ----------------------------------------------------------------------------


def echo(request: ChatRequest) -> Answer:
    """Says the whole prompt, so that a test can look for what must not be in it."""
    return Answer(_fitting(request) or request.prompt)


def empty(request: ChatRequest) -> Answer:
    """Says nothing."""
    return Answer()


def polite(request: ChatRequest) -> Answer:
    """Says one sentence, after thinking and with prose around JSON."""
    thinking = "<think>The user wants something.</think>\n\n"
    fitting = _fitting(request)
    return Answer(thinking + (f"Sure! Here it is: {fitting}" if fitting else "承知しました。"))


def hang(request: ChatRequest) -> Answer:
    """Begins, and never goes on."""
    return Answer("One moment", hang=True)


def broken(request: ChatRequest) -> Answer:
    """Resets the connection in the middle of an answer."""
    return Answer('{"half": "an ans', reset=True)


def blank(request: ChatRequest) -> Answer:
    """White space up to the token cap."""
    return Answer("{", forever=" \n")


SCRIPTS: dict[str, Script] = {
    script.__name__: script for script in (echo, empty, polite, hang, broken, blank)
}


def _fitting(request: ChatRequest) -> str:
    if request.schema is None:
        return ""
    return json.dumps(smallest(request.schema, request.schema), ensure_ascii=False)


def smallest(schema: dict[str, Any], root: dict[str, Any]) -> Any:
    """A small value that fits a JSON schema of the kind that pydantic writes."""
    if "$ref" in schema:
        return smallest(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if "enum" in schema:
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return smallest(schema[key][-1], root)
    match schema.get("type"):
        case "object":
            required = schema.get("required", [])
            return {name: smallest(schema["properties"][name], root) for name in required}
        case "array":
            return [smallest(schema["items"], root)] * schema.get("minItems", 0)
        case "string":
            return "x" * schema.get("minLength", 0)
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
    return None

"""The double as a process of its own, and what other tests rely on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from adapters.ollama_models import OllamaChat
from bot.messages import Turn
from tests.model_script import echo
from tests.ollama_double import OllamaDouble


class Inner(BaseModel):
    kind: Literal["a", "b"]
    note: str | None


class Outer(BaseModel):
    inner: Inner
    many: list[Inner] = Field(min_length=1)
    number: int = Field(ge=3)
    yes: bool
    defaulted: str = "既定"


async def test_echo_shows_the_whole_prompt_and_fits_any_schema() -> None:
    async with OllamaDouble(echo) as server:
        model = OllamaChat(server.url, "qwen3:4b", context_tokens=4_096)
        turns = [Turn.system("規則"), Turn.user("question")]
        pieces = [piece async for piece in model.stream(turns, max_tokens=100)]
        fitted = await model.structured(turns, Outer, max_tokens=200)
        await model.close()
    assert "".join(pieces) == "規則\nquestion"
    assert fitted.number == 3
    assert fitted.many == [fitted.inner]


async def test_a_prompt_over_num_ctx_loses_its_oldest_turns_as_with_ollama() -> None:
    async with OllamaDouble(echo) as server:
        model = OllamaChat(server.url, "qwen3:4b", context_tokens=100)
        turns = [Turn.system("S"), Turn.user("old " * 200), Turn.user("new")]
        pieces = [piece async for piece in model.stream(turns, max_tokens=50)]
        await model.close()
    assert "".join(pieces) == "S\nnew"
    assert server.requests[0].truncated


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [(["--script", "polite"], "承知しました。"), (["--say", "はい"], "はい")],
)
async def test_runs_as_a_process(arguments: list[str], answer: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.ollama_double", "--model", "other:1b", *arguments],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        url = await asyncio.to_thread(process.stdout.readline)
        model = OllamaChat(url.strip(), "other:1b", context_tokens=4_096)
        try:
            await model.check()
            pieces = [piece async for piece in model.stream([Turn.user("?")], max_tokens=50)]
        finally:
            await model.close()
            process.terminate()
    assert "".join(pieces) == answer

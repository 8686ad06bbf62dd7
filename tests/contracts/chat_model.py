"""What every `bot.ports.ChatModel` promises, whatever its server does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any, Literal, cast

import pytest
from pydantic import BaseModel, Field

from adapters.chat_stream import Timeouts
from bot.errors import BadModelAnswer, ModelMissing, ModelTimeout, ModelUnavailable
from bot.messages import Turn
from bot.ports import ChatModel
from tests.model_script import Answer, ChatRequest, Script
from tests.ollama_double import OllamaDouble


class Person(BaseModel):
    """A schema of the kind that Oboete asks for."""

    name: str
    age: int = Field(ge=0)
    mood: Literal["good", "bad"] = "good"


TARO = '{"name": "太郎", "age": 30, "mood": "good"}'

QUESTION = (Turn.system("You are Oboete."), Turn.user("太郎は何歳?"))

PATIENT = Timeouts()

IMPATIENT = Timeouts(connect=0.5, first=0.5, between=0.5, total=5.0)


async def said_by(model: ChatModel, *turns: Turn, max_tokens: int = 1_000) -> list[str]:
    return [text async for text in model.stream(turns or QUESTION, max_tokens=max_tokens)]


def in_turn(*answers: Answer | str) -> Script:
    """A script that gives each answer once, and the last one from then on."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


class ChatModelContract:
    """Subclasses say how to make a model that follows a script."""

    def model(
        self, script: Script, timeouts: Timeouts = PATIENT
    ) -> AbstractAsyncContextManager[ChatModel]:
        raise NotImplementedError

    async def test_streams_an_answer_in_pieces(self) -> None:
        async with self.model(lambda _: "こんにちは, world! 元気ですか?") as model:
            pieces = await said_by(model)
        assert "".join(pieces) == "こんにちは, world! 元気ですか?"
        assert len(pieces) > 2

    async def test_sends_all_turns_in_order_with_the_speakers_name(self) -> None:
        def script(request: ChatRequest) -> str:
            return json.dumps([[m["role"], m["content"]] for m in request.messages])

        turns = (
            Turn.system("S"),
            Turn.user("hi", name="佐藤\n花子"),
            Turn.assistant("hello"),
            Turn.user("今日は?"),
        )
        async with self.model(script) as model:
            answer = json.loads("".join(await said_by(model, *turns)))
        assert answer == [
            ["system", "S"],
            ["user", "佐藤 花子: hi"],
            ["assistant", "hello"],
            ["user", "今日は?"],
        ]

    async def test_lone_surrogates_do_not_stop_a_question(self) -> None:
        async with self.model(lambda request: request.prompt) as model:
            assert "".join(await said_by(model, Turn.user("a\ud83db"))) == "a\ufffdb"

    async def test_name_and_budget_are_known(self) -> None:
        async with self.model(lambda _: "x") as model:
            assert model.name.partition(":")[2]
            assert model.context_tokens > 0
            assert model.is_local

    async def test_an_answer_never_exceeds_the_token_cap(self) -> None:
        async with self.model(lambda _: Answer(forever="word ")) as model:
            assert len(await said_by(model, max_tokens=20)) <= 20

    async def test_an_answer_is_stopped_when_the_server_ignores_the_cap(self) -> None:
        async with self.model(lambda _: Answer(forever="word ", ignore_cap=True)) as model:
            assert len("".join(await said_by(model, max_tokens=20))) <= 20 * 16

    @pytest.mark.parametrize(
        "answer",
        [
            Answer("答えは42です。", thinking="The user asks. 考え中。"),
            Answer("<think>The user asks.\n考え中。</think>\n\n答えは42です。"),
            Answer(
                pieces=("<", "thi", "nk>考", "え中</", "think", ">", "\n\n", "答え", "は42です。")
            ),
            Answer("<thinking>a < b and </b></thinking>答えは42です。"),
        ],
        ids=["own field", "tags", "tags over pieces", "other tag"],
    )
    async def test_thinking_is_not_part_of_an_answer(self, answer: Answer) -> None:
        async with self.model(lambda _: answer) as model:
            assert "".join(await said_by(model)) == "答えは42です。"

    @pytest.mark.parametrize(
        "answer",
        [Answer(), Answer("  \n "), Answer("<think>never closed"), Answer(thinking="only this")],
        ids=["nothing", "white space", "unclosed thinking", "thinking alone"],
    )
    async def test_an_answer_without_text_is_an_error(self, answer: Answer) -> None:
        async with self.model(lambda _: answer) as model:
            with pytest.raises(ModelUnavailable, match="nothing"):
                await said_by(model)

    async def test_several_questions_at_once_get_their_own_answers(self) -> None:
        async with self.model(lambda request: request.messages[-1]["content"]) as model:
            answers = await asyncio.gather(
                *(said_by(model, Turn.user(f"質問 {n}")) for n in range(8))
            )
        assert ["".join(answer) for answer in answers] == [f"質問 {n}" for n in range(8)]

    # -- schema answers --------------------------------------------------------------------------

    @pytest.mark.parametrize(
        "text",
        [
            TARO,
            f"Sure! Here is the JSON:\n```json\n{TARO}\n```\nAnything else?",
            f"<think>30? {{maybe}} or {{}}</think>\n{TARO}",
            f"もちろんです。{TARO} 以上です。",
            f"reasoning without a start tag {{}}</think>{TARO}",
            f"{TARO}\n{TARO}",
            f"{TARO}   \n\n  ",
        ],
        ids=["plain", "fenced", "thinking", "prose", "closing tag alone", "twice", "spaces"],
    )
    async def test_a_schema_answer_is_found_in_what_surrounds_it(self, text: str) -> None:
        calls: list[ChatRequest] = []

        def script(request: ChatRequest) -> str:
            calls.append(request)
            return text

        async with self.model(script) as model:
            person = await model.structured(QUESTION, Person, max_tokens=200)
        assert person == Person(name="太郎", age=30)
        assert len(calls) == 1

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            (r"\u592a\u90ce", "太郎"),
            (r"\u30", r"\u30"),
            (r"C:\dir\u00zz", r"C:\dir\u00zz"),
            (r"\ud83d", "\ufffd"),
            ("two\nlines", "two\nlines"),
        ],
        ids=["valid", "short", "backslashes", "lone surrogate", "raw line break"],
    )
    async def test_odd_escapes_are_read_as_what_they_mean(self, name: str, meant: str) -> None:
        async with self.model(lambda _: f'{{"name": "{name}", "age": 1}}') as model:
            person = await model.structured(QUESTION, Person, max_tokens=200)
        assert person.name == meant

    @pytest.mark.parametrize(
        "bad",
        [
            "",
            "I do not know.",
            '{"name": "太郎", "age": ',
            '{"name": "太郎", "age": "thirty"}',
            '{"name": "太郎", "age": NaN}',
            '{"name": "太郎"}',
            f"{TARO} or rather {TARO.replace('30', '31')}",
            '{"a":' * 1_500,
        ],
        ids=["empty", "prose", "half", "type", "NaN", "field missing", "two answers", "deep"],
    )
    async def test_a_bad_schema_answer_is_asked_for_once_more_with_the_reason(
        self, bad: str
    ) -> None:
        calls: list[ChatRequest] = []

        def script(request: ChatRequest) -> str:
            calls.append(request)
            return TARO if len(calls) == 2 else bad

        async with self.model(script) as model:
            person = await model.structured(QUESTION, Person, max_tokens=20_000)
        assert person.age == 30
        first, second = calls
        assert second.messages[: len(first.messages)] == first.messages
        complaint = second.messages[-1]["content"]
        assert "cannot be used" in complaint
        assert '"age"' in complaint

    @pytest.mark.parametrize(
        "answer",
        [
            Answer("秘密 no JSON"),
            Answer('{"name": "秘密", "age": -1}'),
            Answer('{"name": "秘密', done_reason="length"),
            Answer("{", forever=" \n"),
            Answer("", forever="\t", ignore_cap=True),
        ],
        ids=["prose", "range", "cut", "endless white space", "white space without end"],
    )
    async def test_two_bad_schema_answers_are_an_error_without_their_text(
        self, answer: Answer
    ) -> None:
        calls: list[ChatRequest] = []

        def script(request: ChatRequest) -> Answer:
            calls.append(request)
            return answer

        async with self.model(script) as model:
            with pytest.raises(BadModelAnswer) as caught:
                await model.structured(QUESTION, Person, max_tokens=2_000)
        assert len(calls) == 2
        assert "秘密" not in str(caught.value)
        assert caught.value.fix

    async def test_a_cut_schema_answer_is_asked_for_shorter(self) -> None:
        script = in_turn(Answer('{"name": "太郎', done_reason="length"), TARO)
        asked: list[ChatRequest] = []

        def recording(request: ChatRequest) -> Any:
            asked.append(request)
            return script(request)

        async with self.model(recording) as model:
            await model.structured(QUESTION, Person, max_tokens=200)
        assert "shorter" in asked[1].messages[-1]["content"]

    # -- when things go wrong --------------------------------------------------------------------

    async def test_a_slow_first_piece_is_waited_for(self) -> None:
        patient = Timeouts(first=30.0, between=1.0)
        async with self.model(lambda _: Answer("loaded", delay=1.2), patient) as model:
            assert "".join(await said_by(model)) == "loaded"

    @pytest.mark.parametrize(
        "answer", [Answer(hang=True), Answer("Once upon", hang=True)], ids=["at once", "later"]
    )
    async def test_a_model_that_hangs_is_a_time_out(self, answer: Answer) -> None:
        async with self.model(lambda _: answer, IMPATIENT) as model:
            with pytest.raises(ModelTimeout):
                await said_by(model)
            with pytest.raises(ModelTimeout):
                await model.structured(QUESTION, Person, max_tokens=200)

    async def test_an_answer_ends_when_the_total_time_is_over(self) -> None:
        short = Timeouts(total=0.5)
        endless = Answer(forever="x", ignore_cap=True)
        async with self.model(lambda _: endless, short) as model:
            with pytest.raises(ModelTimeout):
                await said_by(model, max_tokens=10**9)

    async def test_what_came_before_a_break_was_passed_on(self) -> None:
        received: list[str] = []

        async def read(model: ChatModel) -> None:
            async for text in model.stream(QUESTION, max_tokens=100):
                received.append(text)  # noqa: PERF401 - a comprehension would lose them

        async with self.model(lambda _: Answer("半分だけ", reset=True)) as model:
            with pytest.raises(ModelUnavailable):
                await read(model)
        assert "".join(received) == "半分だけ"

    async def test_a_break_after_text_is_not_asked_again(self) -> None:
        calls: list[ChatRequest] = []

        def script(request: ChatRequest) -> Answer:
            calls.append(request)
            return Answer("half", reset=True)

        async with self.model(script) as model:
            with pytest.raises(ModelUnavailable):
                await said_by(model)
        assert len(calls) == 1

    @pytest.mark.parametrize(
        "first",
        [Answer(reset=True), Answer(status=503, error="server busy"), Answer(status=429)],
        ids=["reset", "busy", "too many"],
    )
    async def test_a_refusal_before_any_text_is_asked_again(self, first: Answer) -> None:
        async with self.model(in_turn(first, "fine")) as model:
            assert "".join(await said_by(model)) == "fine"

    async def test_a_server_that_stays_busy_is_unavailable(self) -> None:
        async with self.model(lambda _: Answer(status=503, error="busy")) as model:
            with pytest.raises(ModelUnavailable, match="busy") as caught:
                await said_by(model)
        assert not isinstance(caught.value, ModelMissing)

    @pytest.mark.parametrize(
        "answer",
        [
            Answer(status=500, error="model requires more system memory"),
            Answer("half", error_in_stream="model runner stopped"),
            Answer("half", stop_early=True),
            Answer(raw=b"<html>gateway</html>\n"),
            Answer(raw=b'[1]\n{"message": 5}\n'),
        ],
        ids=["500", "error line", "early end", "html", "other JSON"],
    )
    async def test_a_failing_server_is_unavailable(self, answer: Answer) -> None:
        async with self.model(lambda _: answer) as model:
            with pytest.raises(ModelUnavailable):
                await said_by(model)
            with pytest.raises(ModelUnavailable):
                await model.structured(QUESTION, Person, max_tokens=200)

    async def test_check_passes_when_the_model_is_there(self) -> None:
        async with self.model(lambda _: "x") as model:
            await model.check()


class WireContract:
    """What a chat model over HTTP promises besides. Subclasses make one for a server."""

    def connect(self, server: OllamaDouble, model: str, timeouts: Timeouts) -> ChatModel:
        raise NotImplementedError

    @asynccontextmanager
    async def to_server(
        self, script: Script, *, model: str = "qwen3:4b", timeouts: Timeouts = PATIENT
    ) -> AsyncIterator[tuple[OllamaDouble, ChatModel]]:
        async with OllamaDouble(script) as server:
            chat = self.connect(server, model, timeouts)
            try:
                yield server, chat
            finally:
                await chat.close()

    async def test_closing_a_stream_closes_the_connection(self) -> None:
        async with self.to_server(lambda _: Answer("long story", hang=True)) as (server, model):
            stream = cast("AsyncGenerator[str, None]", model.stream(QUESTION, max_tokens=100))
            async with aclosing(stream):
                assert await anext(stream)
            await asyncio.wait_for(server.disconnected.wait(), 5)

    async def test_cancelling_a_reader_closes_the_connection(self) -> None:
        async with self.to_server(lambda _: Answer("long story", hang=True)) as (server, model):
            reader = asyncio.create_task(said_by(model))
            while not server.requests:
                await asyncio.sleep(0.01)
            reader.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reader
            await asyncio.wait_for(server.disconnected.wait(), 5)

    async def test_a_time_out_closes_the_connection(self) -> None:
        hanging = self.to_server(lambda _: Answer(hang=True), timeouts=IMPATIENT)
        async with hanging as (server, model):
            with pytest.raises(ModelTimeout):
                await said_by(model)
            await asyncio.wait_for(server.disconnected.wait(), 5)

    async def test_endless_white_space_is_stopped_at_the_server(self) -> None:
        blank = Answer("{", forever=" ", ignore_cap=True)
        async with self.to_server(lambda _: blank) as (server, model):
            with pytest.raises(BadModelAnswer):
                await model.structured(QUESTION, Person, max_tokens=100_000)
            await asyncio.wait_for(server.disconnected.wait(), 5)

    async def test_schema_and_cap_are_sent_with_every_request(self) -> None:
        async with self.to_server(in_turn("bad", TARO)) as (server, model):
            await model.structured(QUESTION, Person, max_tokens=123)
            await said_by(model, max_tokens=45)
        assert [request.max_tokens for request in server.requests] == [123, 123, 45]
        shapes = [request.schema for request in server.requests]
        assert shapes == [Person.model_json_schema(), Person.model_json_schema(), None]

    async def test_a_missing_model_is_named_with_a_fix(self) -> None:
        async with self.to_server(lambda _: "x", model="llama9:1b") as (_, model):
            for attempt in (model.check(), said_by(model)):
                with pytest.raises(ModelMissing, match="llama9:1b") as caught:
                    await attempt
                assert caught.value.fix

    async def test_a_server_that_is_down_is_named_with_a_fix(self) -> None:
        async with self.to_server(lambda _: "x") as (server, model):
            await server.__aexit__()
            for attempt in (
                model.check(),
                said_by(model),
                model.structured(QUESTION, Person, max_tokens=10),
            ):
                with pytest.raises(ModelUnavailable) as caught:
                    await attempt
                assert not isinstance(caught.value, ModelMissing)
                assert f"127.0.0.1:{server.port}" in caught.value.fix

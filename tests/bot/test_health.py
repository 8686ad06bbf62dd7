"""Health, metrics and the log: what they tell, and that they tell nobody's words."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from pydantic import BaseModel

from bot import logging_setup
from bot.errors import BadSettings, ModelUnavailable
from bot.health import connections, listening
from bot.jobs import At, Every, Job, Jobs
from bot.logging_setup import JsonFormatter, TextFormatter, WithMessage, discreet, following
from bot.messages import Turn
from bot.metrics import Metrics
from memory.errors import StoreUnavailable
from memory.store import inbox
from tests.fakes import GENERAL, Mind, ScriptedChatModel


async def nothing() -> dict[str, int]:
    return {}


@pytest.fixture
def metrics(mind: Mind) -> Metrics:
    return Metrics(mind.database, mind.clock)


@pytest.fixture
def jobs(mind: Mind) -> Jobs:
    return Jobs(
        [Job("often", Every(5), nothing), Job("nightly", At(3, 0), nothing)],
        mind.database,
        mind.clock,
        "UTC",
    )


class Served:
    """The endpoint, with what it says of the world in the test's hands."""

    def __init__(self) -> None:
        self.connected: dict[str, bool] = {}
        self.problems: list[str] = []
        self.port = 0

    async def get(self, path: str) -> tuple[int, str]:
        url = f"http://127.0.0.1:{self.port}{path}"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return answer.status, await answer.text()


@pytest.fixture
async def served(metrics: Metrics, jobs: Jobs) -> AsyncIterator[Served]:
    made = Served()

    async def ready() -> list[str]:
        return made.problems

    async with listening(0, metrics, jobs, lambda: made.connected, ready) as port:
        made.port = port
        yield made


async def test_health_and_readiness(served: Served) -> None:
    assert (await served.get("/healthz"))[0] == 200
    assert (await served.get("/readyz"))[0] == 200
    served.connected = {"slack": False, "discord": True}
    status, text = await served.get("/readyz")
    assert status == 503
    assert json.loads(text)["problems"] == ["slack is not connected"]
    served.connected = {}
    served.problems = ["another process serves the database"]
    assert (await served.get("/readyz"))[0] == 503
    assert (await served.get("/healthz"))[0] == 200


async def test_a_port_in_use_is_named_with_a_fix(
    served: Served, metrics: Metrics, jobs: Jobs
) -> None:
    async def ready() -> list[str]:
        return []

    with pytest.raises(BadSettings, match=str(served.port)) as raised:
        async with listening(served.port, metrics, jobs, dict, ready):
            pass
    assert "OBOETE_HEALTH_PORT" in raised.value.fix


async def test_metrics_tell_numbers_and_nobody_s_words(mind: Mind, served: Served) -> None:
    await mind.state("quetzalcoatl lives in 大阪", said={"audience": GENERAL})
    await mind.database.write(
        lambda s: inbox.commit(s, "slack", "T1", "d1", {"text": "zanzibar"}, mind.clock())
    )
    served.connected = {"slack": True}
    status, text = await served.get("/metrics")
    assert status == 200
    values = {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if not line.startswith("#")
    }
    assert values["oboete_facts"] == 1
    assert values["oboete_inbox_depth"] == 1
    assert values['oboete_platform_connected{platform="slack"}'] == 1
    moment = mind.clock().timestamp()
    assert values['oboete_last_inbound_timestamp_seconds{platform="slack"}'] == moment
    assert values['oboete_job_lag_seconds{job="often"}'] == 0
    for word in ("quetzalcoatl", "大阪", "zanzibar", "taro"):
        assert word not in text


async def test_a_job_that_is_late_is_told(mind: Mind, jobs: Jobs) -> None:
    await jobs._baseline()
    assert (await jobs.lags())["nightly"] == 0
    mind.clock.advance(days=1)
    assert (await jobs.lags())["nightly"] == 9 * 3600  # due at three, now noon
    await jobs.run_job(jobs.jobs[1])
    assert (await jobs.lags())["nightly"] == 0


async def test_metrics_of_a_database_that_is_away_are_an_error(
    mind: Mind, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(_: Any) -> None:
        raise StoreUnavailable("The disk is full.")

    monkeypatch.setattr(mind.database, "read", away)
    assert (await served.get("/metrics"))[0] == 503


class Answer(BaseModel):
    number: int


async def test_model_calls_are_timed_and_counted(mind: Mind, metrics: Metrics) -> None:
    script = ScriptedChatModel(
        ["a", "b"], [ModelUnavailable("away")], ["x", "y"], shaped=['{"number": 1}']
    )
    model = metrics.measured(script)
    turns = [Turn.user("hello")]
    assert [piece async for piece in model.stream(turns, max_tokens=9)] == ["a", "b"]
    with pytest.raises(ModelUnavailable):
        _ = [piece async for piece in model.stream(turns, max_tokens=9)]
    assert (await model.structured(turns, Answer, max_tokens=9)).number == 1
    left = model.stream(turns, max_tokens=9)
    assert await anext(left) == "x"
    await left.aclose()  # type: ignore[attr-defined]

    def count(kind: str, outcome: str) -> float | None:
        labels = {"kind": kind, "outcome": outcome}
        return metrics.registry.get_sample_value("oboete_model_calls_total", labels)

    assert count("answer", "done") == 1
    assert count("answer", "failed") == 1
    assert count("answer", "left") == 1
    assert count("structured", "done") == 1
    seconds = metrics.registry.get_sample_value("oboete_model_seconds_count", {"kind": "answer"})
    assert seconds == 3
    assert (model.name, model.is_local, model.context_tokens) == ("scripted:model", True, 4096)


def test_platforms_that_cannot_tell_are_left_out() -> None:
    class Knows:
        connected = False

    assert connections({"slack": Knows(), "console": object()}) == {"slack": False}


# -- the log -------------------------------------------------------------------------------------


def full() -> None:
    raise StoreUnavailable("The disk is full.")


def logged(formatter: logging.Formatter, *, words: str) -> str:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    handler.addFilter(WithMessage())
    log = logging.Logger("oboete.test")
    log.addHandler(handler)
    with following("slack:42"):
        log.warning("answered %d", 7)
        try:
            Answer.model_validate({"number": words})
        except ValueError:
            log.exception("event failed")
        try:
            full()
        except StoreUnavailable:
            log.exception("job failed")
    log.warning("after")
    return stream.getvalue()


def test_a_line_of_text_has_the_id_and_no_words_of_anybody() -> None:
    text = logged(TextFormatter(), words="quetzalcoatl")
    assert "[slack:42] answered 7" in text
    assert "[-] after" in text
    assert "ValidationError" in text
    assert "The disk is full." in text
    assert "quetzalcoatl" not in text


def test_json_lines_hold_the_same() -> None:
    lines = [json.loads(line) for line in logged(JsonFormatter(), words="大阪").splitlines()]
    assert [line["message_id"] for line in lines] == ["slack:42", "slack:42", "slack:42", "-"]
    assert lines[0]["message"] == "answered 7"
    assert "ValidationError" in lines[1]["error"]
    assert "大阪" not in json.dumps(lines, ensure_ascii=False)


def test_no_error_is_no_text() -> None:
    assert discreet(sys.exc_info()) == ""


def test_the_scheduler_s_own_chatter_stays_out(monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    level = root.level
    scheduler = logging.getLogger("apscheduler")
    try:
        logging_setup.configure("info", "json", logging.StreamHandler(io.StringIO()))
        assert not scheduler.isEnabledFor(logging.INFO)
        assert root.isEnabledFor(logging.INFO)
    finally:
        root.setLevel(level)
        scheduler.setLevel(logging.NOTSET)

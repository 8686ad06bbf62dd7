"""`oboete run` that is killed, stopped and started twice, while two platforms feed it."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from memory.store import job_runs, lease
from memory.store.lease import LEASE_SECONDS
from tests.faults.feeding import NAMES
from tests.faults.service import SECONDS, Service, stop
from tests.ollama_double import Answer, ChatRequest, OllamaDouble

pytestmark = pytest.mark.slow

STOPPED_WITHIN = 10.0


async def test_killed_at_random_moments_it_loses_and_repeats_nothing(tmp_path: Path) -> None:
    service = Service(tmp_path, count=60, environment={"FEED_PAUSE": "0.03"})
    chance = random.Random(tmp_path.name)
    for kill in range(4):
        process = service.start()
        service.wait_for(min(24 * (kill + 1), 110), process)
        time.sleep(chance.uniform(0, 0.3))
        process.kill()
        process.communicate(timeout=SECONDS)
    service.finish()
    await service.verify()


async def test_stopped_it_is_gone_within_ten_seconds_and_goes_on_after(tmp_path: Path) -> None:
    service = Service(tmp_path, count=60, environment={"FEED_PAUSE": "0.03"})
    process = service.start()
    service.wait_for(30, process)
    code, seconds, log = stop(process)
    assert (code, seconds < STOPPED_WITHIN) == (0, True), log
    service.finish()
    await service.verify()


async def test_an_answer_that_takes_too_long_is_parked_and_given_after_the_restart(
    tmp_path: Path,
) -> None:
    asked: list[str] = []

    async def slow(request: ChatRequest) -> Answer:
        asked.append(request.prompt)
        return Answer("One moment", hang=True)

    async with OllamaDouble(slow) as server:
        service = Service(
            tmp_path,
            count=1,
            environment={"OLLAMA_HOST": server.url, "OBOETE_CHAT_MODEL": "ollama:qwen3:4b"},
        )
        process = service.start()
        await until(lambda: bool(asked))
        code, seconds, log = await asyncio.to_thread(stop, process)
        assert (code, seconds < STOPPED_WITHIN) == (0, True), log
        assert service.delivered() == []
        server.script = lambda request: "はい"
        await asyncio.to_thread(service.finish)
    assert sorted(service.delivered()) == [f"{name}-0" for name in NAMES]


async def until(holds: Callable[[], bool]) -> None:
    """Wait until it does."""
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end
        await asyncio.sleep(0.02)


async def test_a_second_run_exits_with_2_and_names_the_holder(tmp_path: Path) -> None:
    service = Service(tmp_path, count=5)
    first = service.start()
    service.wait_for(10, first)
    await until(lambda: len(service.delivered()) == 10)
    second = service.start()
    _, err = second.communicate(timeout=SECONDS)
    assert second.returncode == 2
    assert f"process {first.pid}" in err.decode()
    assert "Traceback" not in err.decode()
    assert stop(first)[0] == 0
    await service.verify()


async def test_after_a_kill_the_lease_is_free_in_time_and_each_missed_job_runs_once(
    tmp_path: Path,
) -> None:
    service = Service(tmp_path, count=5)
    first = service.start()
    service.wait_for(10, first)
    first.kill()
    first.communicate(timeout=SECONDS)
    database = service.open()
    later = datetime.now(UTC) + timedelta(seconds=LEASE_SECONDS)
    assert LEASE_SECONDS <= 30
    assert await database.read(lambda s: lease.current(s, later)) is None
    # as if it had been down for a fortnight
    for job in ("erase uninstalled", "consolidate", "check", "backup"):
        assert await database.read(partial(job_runs.latest, job=job)) is not None
    await database.write(
        lambda s: s.connection().exec_driver_sql(
            "UPDATE job_run SET slot = '2026-01-01' WHERE slot <> 'latest'"
        )
    )
    database.close()
    for _ in range(2):
        process = service.start()
        await service.serves(process)
        database = service.open()
        end = time.monotonic() + SECONDS
        while True:
            runs = await database.read(lambda s: job_runs.history(s, 99))
            done = [run for run in runs if run.slot != job_runs.LATEST and run.outcome == "done"]
            if len(done) >= 4:
                break
            assert time.monotonic() < end, runs
            time.sleep(0.05)
        database.close()
        assert stop(process)[0] == 0
        assert sorted(run.job for run in done) == [
            "backup",
            "check",
            "consolidate",
            "erase uninstalled",
        ]
        assert {run.attempts for run in done} == {1}
    assert len(list((service.data / "backups").iterdir())) == 1


async def test_a_backup_of_the_running_service_restores_to_the_same_facts(tmp_path: Path) -> None:
    service = Service(tmp_path, count=40, environment={"FEED_PAUSE": "0.02"})
    process = service.start()
    service.wait_for(30, process)
    made = service.start("backup", "--json")
    out, err = made.communicate(timeout=SECONDS)
    assert made.returncode == 0, err.decode()
    assert stop(process)[0] == 0
    there = Service(tmp_path / "there", count=40)
    there.folder.mkdir()
    restored = there.start(
        "restore", json.loads(out)["path"], "--ledger", str(service.data), "--json"
    )
    out, err = restored.communicate(timeout=SECONDS)
    assert restored.returncode == 0, err.decode()
    assert json.loads(out)["problems"] == []
    # the platforms send on from what the restored inbox does not know: nothing is there twice
    there.finish()
    await there.verify_memory()

"""The Procfile as it stands, run by honcho with a stand-in for the platforms."""

from __future__ import annotations

import os
import shlex
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import migrations
from memory.store.database import Database
from tests.faults.service import ROOT, SECONDS, Service

pytestmark = pytest.mark.slow


def with_feeding_oboete(folder: Path) -> dict[str, str]:
    """An environment whose `oboete` is the program with the feeding platforms."""
    command = folder / "bin" / "oboete"
    command.parent.mkdir()
    python = shlex.quote(sys.executable)
    command.write_text(f'#!/bin/sh\nexec {python} -m tests.faults.feeding "$@"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    return {
        **os.environ,
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONUNBUFFERED": "1",
        "OBOETE_DATA_DIR": str(folder / "data"),
        "FEED_DIR": str(folder),
        "FEED_COUNT": "5",
    }


def honcho(environment: dict[str, str], *processes: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "honcho", "start", *processes],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def test_release_sets_up_the_database(tmp_path: Path) -> None:
    process = honcho(with_feeding_oboete(tmp_path), "release")
    out, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, out.decode()
    database = Database(f"sqlite:///{tmp_path / 'data' / 'oboete.db'}")
    assert migrations.current(database.engine) == migrations.head()
    database.close()


@pytest.mark.parametrize("kind", ["worker", "web"])
async def test_a_process_serves_and_stops_by_sigterm(tmp_path: Path, kind: str) -> None:
    process = honcho(with_feeding_oboete(tmp_path), kind)
    service = Service(tmp_path, count=5)
    end = time.monotonic() + SECONDS
    while len(service.delivered()) < 10:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=SECONDS)
    assert b"Traceback" not in out
    assert f"{kind}.1 stopped (rc=0)" in out.decode(), out.decode()
    await service.verify()

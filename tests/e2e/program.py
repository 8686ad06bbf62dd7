"""Runs `python -m bot` as a person or a script would: through pipes, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 120
"""No process of these tests runs longer, however busy the machine."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that has ended."""

    code: int
    out: str
    err: str

    @property
    def answers(self) -> list[str]:
        """What stands on standard output, split at blank lines."""
        return self.out.removesuffix("\n\n").split("\n\n")

    def complained_in_one_line(self) -> str:
        """The one line on standard error; fails for more, or for a traceback."""
        lines = self.err.strip().splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("oboete: ")
        assert "Traceback" not in self.err
        assert "unexpected" not in self.err
        return lines[0]


@dataclass(slots=True)
class Program:
    """The installed program with a data folder of its own and settings of the test's choice."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    module: str = "bot"

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        return {
            **kept,
            "PYTHONPATH": str(ROOT),
            "PYTHONWARNINGS": "error,ignore::DeprecationWarning:discord.player",
            "OBOETE_DATA_DIR": str(self.folder),
            "OBOETE_EMBEDDER": "embedded",
            **self.settings,
        }

    def start(
        self,
        *arguments: str,
        before: Callable[[], None] | None = None,
        stdin: int = subprocess.PIPE,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        """Start it, with pipes where nothing else is given."""
        return subprocess.Popen(
            [sys.executable, "-m", self.module, *arguments],
            env=self.environment,
            cwd=self.folder.parent,
            preexec_fn=before,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
        )

    def run(
        self,
        *arguments: str,
        said: str | bytes = b"",
        before: Callable[[], None] | None = None,
    ) -> Ended:
        """Run it to its end with `said` on standard input."""
        process = self.start(*arguments, before=before)
        given = said.encode() if isinstance(said, str) else said
        try:
            out, err = process.communicate(given, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()  # else it would slow down every test after this one
            process.communicate()
            raise
        return Ended(process.returncode, out.decode(), err.decode())

    def chat(self, *lines: str, user: str = "taro") -> Ended:
        """Talk: one line each."""
        return self.run("chat", "--user", user, said="".join(f"{line}\n" for line in lines))

"""One process serves a database: who it is, and until when that holds without renewal."""

from __future__ import annotations

import math
import os
import secrets
import socket
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session

from memory.errors import LeaseHeld
from memory.tables import LeaseRow

LEASE_SECONDS = 20
"""A holder that was killed is gone after this long; the promise is 30 seconds."""

RENEW_SECONDS = 5
"""How often a holder renews; three may fail before the lease is lost."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that serves, or wants to serve, the database."""

    host: str
    pid: int
    nonce: str
    """Tells apart two processes that had one number."""

    @classmethod
    def me(cls) -> Holder:
        return cls(socket.gethostname().replace("|", "-"), os.getpid(), secrets.token_hex(8))

    @classmethod
    def parse(cls, token: str) -> Holder:
        host, pid, nonce = token.split("|")
        return cls(host, int(pid), nonce)

    @property
    def token(self) -> str:
        return f"{self.host}|{self.pid}|{self.nonce}"

    def is_gone(self) -> bool:
        """True when it ran on this machine and its process has ended."""
        if self.host != socket.gethostname().replace("|", "-"):
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return False

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def acquire(session: Session, holder: Holder, now: datetime) -> None:
    """Take or renew the lease. Raises LeaseHeld, naming the process that has it.

    A holder on this machine whose process is gone is not waited for.
    """
    row = session.get(LeaseRow, 1)
    if row is not None and row.token != holder.token and now < row.expires_at:
        other = Holder.parse(row.token)
        if not other.is_gone():
            left = math.ceil((row.expires_at - now).total_seconds())
            raise LeaseHeld(
                f"This database is served by {other}."
                f" If that process is gone, try again in {left} seconds."
            )
    expires_at = now + timedelta(seconds=LEASE_SECONDS)
    session.merge(LeaseRow(id=1, token=holder.token, expires_at=expires_at))
    session.flush()


def release(session: Session, holder: Holder) -> None:
    """Give the lease back, if `holder` still has it."""
    row = session.get(LeaseRow, 1)
    if row is not None and row.token == holder.token:
        session.delete(row)
        session.flush()


def current(session: Session, now: datetime) -> Holder | None:
    """Who serves the database now; None for nobody."""
    row = session.get(LeaseRow, 1)
    if row is None or now >= row.expires_at:
        return None
    holder = Holder.parse(row.token)
    return None if holder.is_gone() else holder

"""What was forgotten, as keyed hashes: enough to not learn it again, useless by itself."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import bindparam, delete
from sqlmodel import Session, col, select

from memory.errors import StoreUnavailable
from memory.tables import TombstoneRow
from memory.types import Audience

_KEY_BYTES = 32
_RETRACTED = "-"
_EVERY_REVISION = "*"


class Ledger:
    """The key, and the list of tombstones kept outside the database and its backups.

    A backup that is restored brings back what was forgotten after it was made; applying the
    ledger takes it out again.
    """

    def __init__(self, folder: Path) -> None:
        """Reads or makes the key in `folder`. Raises StoreUnavailable."""
        self._path = folder / "forgotten.ledger"
        key_path = folder / "forgotten.key"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not key_path.exists():
                key_path.touch(mode=0o600)
                key_path.write_bytes(secrets.token_bytes(_KEY_BYTES))
            self._key = key_path.read_bytes()
        except OSError as error:
            raise StoreUnavailable(f"The data folder cannot be used: {error}") from error

    def digest(self, audience: Audience, platform_id: str, revision: str) -> bytes:
        """Names one revision of one message; 16 bytes that say nothing without the key.

        The platform names the message by the place as it is now, whenever it was said.
        """
        said = "\x1f".join((str(audience.now), platform_id, revision)).encode()
        return hmac.new(self._key, said, hashlib.sha256).digest()[:16]

    def whole(self, audience: Audience, platform_id: str) -> bytes:
        """Names every revision of one message: it was deleted, and no edit can follow that."""
        return self.digest(audience, platform_id, _EVERY_REVISION)

    def append(self, digests: Iterable[bytes]) -> None:
        """Add to the list outside the database. Raises StoreUnavailable."""
        self._write(digest.hex() for digest in digests)

    def retract(self, digests: Iterable[bytes]) -> None:
        """Take back what was forgotten by mistake. Raises StoreUnavailable."""
        self._write(_RETRACTED + digest.hex() for digest in digests)

    def _write(self, lines: Iterable[str]) -> None:
        text = "".join(f"{line}\n" for line in lines)
        if not text:
            return
        try:
            with self._path.open("a", encoding="ascii") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreUnavailable(f"The ledger cannot be written: {error}") from error

    def position(self) -> int:
        """Bytes on the list now: what is written later stands behind it."""
        return self._path.stat().st_size if self._path.exists() else 0

    def digests(self, after: int = 0) -> set[bytes]:
        """Everything on the list behind a position that was not taken back.

        Raises StoreUnavailable.
        """
        if not self._path.exists():
            return set()
        listed: set[bytes] = set()
        try:
            for line in self._path.read_bytes()[after:].decode("ascii").split():
                digest = bytes.fromhex(line.removeprefix(_RETRACTED))
                if line.startswith(_RETRACTED):
                    listed.discard(digest)
                else:
                    listed.add(digest)
        except (OSError, ValueError) as error:
            raise StoreUnavailable(f"The ledger cannot be read: {error}") from error
        return listed


def add(session: Session, digests: Iterable[bytes], now: datetime | None = None) -> None:
    """Note that these revisions were forgotten."""
    moment = now or datetime.now(UTC)
    for digest in digests:
        session.merge(TombstoneRow(digest=digest, forgotten_at=moment))
    session.flush()


def lift(session: Session, digests: Iterable[bytes]) -> None:
    """Let these revisions be learned again."""
    session.execute(delete(TombstoneRow).where(col(TombstoneRow.digest).in_(set(digests))))


def exists(session: Session, *digests: bytes) -> bool:
    """True when one of these revisions was forgotten."""
    return session.connection().execute(_FIND, {"digests": digests}).first() is not None


_FIND = select(col(TombstoneRow.digest)).where(
    col(TombstoneRow.digest).in_(bindparam("digests", expanding=True))
)

"""Tokens by which programs ask on behalf of one person."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, update
from sqlmodel import Session, col, select

from memory.store import audiences
from memory.tables import TokenRow
from memory.types import Person

PREFIX = "oboete-"
_RANDOM_BYTES = 32


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token as it is listed: without its secret, which nobody can see again."""

    id: int
    person: Person
    label: str
    created_at: datetime
    last_used_at: datetime | None


def issue(session: Session, person: Person, label: str, now: datetime) -> str:
    """Make a token; gives its secret, once."""
    secret = PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
    row = TokenRow(person=str(person), label=label, digest=_digest(secret), created_at=now)
    session.add(row)
    session.flush()
    return secret


def owner(session: Session, secret: str, now: datetime) -> Person | None:
    """Whose token this is; None for one that is not valid (any more), and while the person's
    tenant is locked.
    """
    found = session.execute(
        update(TokenRow)
        .where(col(TokenRow.digest) == _digest(secret))
        .values(last_used_at=now)
        .returning(col(TokenRow.person))
    ).scalar_one_or_none()
    person = Person.parse(found) if found is not None else None
    return None if person is None or audiences.is_locked(session, person) else person


def listed(session: Session) -> list[AccessToken]:
    """All tokens, oldest first."""
    rows = session.exec(select(TokenRow).order_by(col(TokenRow.id)))
    return [
        AccessToken(
            row.id or 0, Person.parse(row.person), row.label, row.created_at, row.last_used_at
        )
        for row in rows
    ]


def revoke(session: Session, token_id: int) -> bool:
    """Make a token worthless; False when there is none of that number."""
    gone = session.execute(
        delete(TokenRow).where(col(TokenRow.id) == token_id).returning(col(TokenRow.id))
    )
    return gone.scalar_one_or_none() is not None


def revoke_all(session: Session, person: Person) -> int:
    """Make all tokens of a person worthless; gives how many."""
    gone = session.execute(
        delete(TokenRow).where(col(TokenRow.person) == str(person)).returning(col(TokenRow.id))
    )
    return len(gone.all())


def _digest(secret: str) -> bytes:
    # 256 random bits need no salt and no slow hash
    return hashlib.sha256(secret.encode()).digest()

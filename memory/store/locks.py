"""Tenants that uninstalled Oboete: since when what they said is read by nobody.

What keeps it from being read is in `memory.store.audiences`.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete
from sqlmodel import Session, col

from memory.store import places
from memory.store.audiences import LOCKED, locked_key
from memory.tables import KeyValueRow
from memory.types import require_aware

Tenant = tuple[str, str]
"""Platform and tenant."""


def lock(session: Session, platform: str, tenant: str, since: datetime) -> None:
    """Lock a tenant; one that is locked already stays so since then."""
    key = locked_key(platform, tenant)
    if places.get_value(session, key) is None:
        places.set_value(session, key, require_aware(since).isoformat())


def unlock(session: Session, platform: str, tenant: str) -> None:
    """Let it be read again."""
    session.execute(delete(KeyValueRow).where(col(KeyValueRow.key) == locked_key(platform, tenant)))


def locked(session: Session) -> dict[Tenant, datetime]:
    """Every locked tenant, with the time (UTC) since when; in order."""
    found: dict[Tenant, datetime] = {}
    for key in places.value_keys(session, LOCKED):
        platform, _, tenant = key.removeprefix(LOCKED).partition(":")
        since = places.get_value(session, key)
        if since:
            found[platform, tenant] = datetime.fromisoformat(since)
    return found

"""What statements have in common that are built once and run for every message.

Assembling a statement takes longer than running it, so the hot ones are constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import BindParameter, Integer, bindparam
from sqlalchemy.sql.base import Executable
from sqlmodel import Session


def numbers(name: str) -> BindParameter[int]:
    """A parameter for `in_`: a list of whole numbers of any length, also none.

    They are written into the text, because SQLite takes at most 32,766 parameters.
    """
    return bindparam(name, type_=Integer, expanding=True, literal_execute=True)


def read(session: Session, statement: Executable, parameters: Mapping[str, Any]) -> Sequence[Any]:
    """Plain rows, also of what the session has changed but not sent yet.

    Making an object for each row takes longer than reading it.
    """
    session.flush()
    return session.connection().execute(statement, parameters).all()

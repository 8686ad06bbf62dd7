"""What statements have in common that are built once and run for every message.

Assembling a statement takes longer than running it, so the hot ones are constants.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Integer, bindparam


def numbers(name: str) -> Any:
    """A parameter for `in_`: a list of whole numbers of any length, also none.

    They are written into the text, because SQLite takes at most 32,766 parameters.
    """
    return bindparam(name, type_=Integer, expanding=True, literal_execute=True)

"""How Oboete speaks in one place, as whoever installed it chose."""

from __future__ import annotations

from dataclasses import dataclass

from babel import Locale, UnknownLocaleError


@dataclass(frozen=True, slots=True)
class Persona:
    """Nothing chosen leaves the choice to the question and to the person who asks."""

    style: str = ""
    """Words for the model, such as "dry, at most two sentences"; without a model it has none."""
    language: str = ""
    """Language code, such as `ja`, of everything that is said there for all to read."""

    def __post_init__(self) -> None:
        if self.language and language_name(self.language) is None:
            raise ValueError(f"{self.language!r} is no language code such as `en` or `ja`")


def language_name(code: str) -> str | None:
    """English name of a language, such as `Japanese` for `ja`; None for no language code."""
    if code == "und":
        return None
    try:
        return Locale.parse(code, sep="-" if "-" in code else "_").get_language_name("en")
    except (UnknownLocaleError, ValueError):
        return None

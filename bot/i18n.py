"""What people read, in their language. English stands in the code; each other language is one
gettext catalogue in `locales/`, read with Babel, so a translator needs no build step.
"""

from __future__ import annotations

import gettext
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib import resources
from io import BytesIO
from zoneinfo import ZoneInfo

from babel import Locale
from babel.dates import format_date
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

DEFAULT = "en"

_DIRECTIONS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
"""U+202A–202E and U+2066–2069: they turn the direction of what stands behind them."""


def shown(text: str) -> str:
    """Somebody's words without what would turn the words beside them around: stored text must not
    make a name, a date or a number of ours read as another.
    """
    return text.translate(_DIRECTIONS)


class Translator:
    """Texts and dates in one language."""

    def __init__(self, language: str, catalogue: gettext.NullTranslations) -> None:
        self.language = language
        self._catalogue = catalogue

    def __call__(self, message: str, **values: object) -> str:
        """The message in this language, with `{names}` filled in as they may be shown."""
        return self._catalogue.gettext(message).format(**_shown(values))

    def plural(self, one: str, many: str, count: int, **values: object) -> str:
        """As a call, by the language's plural rule; `{count}` is filled in too."""
        text = self._catalogue.ngettext(one, many, count)
        return text.format(count=count, **_shown(values))

    def date(self, moment: datetime, time_zone: str = "UTC") -> str:
        """The day of `moment` where the reader is, such as "Nov 30, 2026" or 2026/11/30."""
        local = moment.astimezone(ZoneInfo(time_zone))
        return str(format_date(local.date(), format="medium", locale=Locale.parse(self.language)))


def _shown(values: Mapping[str, object]) -> dict[str, object]:
    return {name: shown(v) if isinstance(v, str) else v for name, v in values.items()}


@cache
def languages() -> list[str]:
    """Languages there is a catalogue for, English first."""
    folder = resources.files("bot").joinpath("locales")
    return [DEFAULT, *sorted(p.name.removesuffix(".po") for p in folder.iterdir())]


@cache
def _load(language: str) -> Translator:
    if language == DEFAULT:
        return Translator(DEFAULT, gettext.NullTranslations())
    text = resources.files("bot").joinpath("locales", f"{language}.po").read_bytes()
    compiled = BytesIO()
    write_mo(compiled, read_po(BytesIO(text), locale=language))
    compiled.seek(0)
    return Translator(language, gettext.GNUTranslations(compiled))


def translator(locale: str | None) -> Translator:
    """The translator for a BCP 47 tag such as `ja-JP`; English for what we do not have."""
    language = (locale or DEFAULT).replace("_", "-").split("-")[0].lower()
    return _load(language if language in languages() else DEFAULT)

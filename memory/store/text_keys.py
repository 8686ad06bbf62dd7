"""Keys by which texts in the same words are found."""

from __future__ import annotations

import hashlib
import unicodedata


def text_key(text: str) -> bytes:
    """Equal for texts that are the same but for width, case, spacing and final punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    spaced = " ".join(folded.split())
    return hashlib.sha256((spaced.rstrip(" .。!！") or spaced).encode()).digest()[:16]

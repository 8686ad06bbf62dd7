"""Taking a model's thinking text out of its answer while it streams."""

from __future__ import annotations

import re

_OPEN = re.compile(r"(?<!`)<(think|thinking|thought)>", re.IGNORECASE)
_CLOSE = re.compile(r"(?<!`)</(think|thinking|thought)>", re.IGNORECASE)
_PARTIAL_TAG = re.compile(r"`?<(/?[a-z]{0,8})?$|`$", re.IGNORECASE)
"""What the end of a piece looks like when a tag, or the backtick that disarms one, may follow."""


class ThinkingFilter:
    """Passes on what is not between `<think>` and `</think>`, whatever the pieces' borders.

    A tag right after a backtick is a mention of the tag, not a tag. White space before the
    first visible character is dropped: models put blank lines after their thinking.
    """

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        self._begun = False

    def feed(self, piece: str) -> str:
        """The part of the answer that is certain after this piece; may be empty."""
        return self._take(piece, last=False)

    def finish(self) -> str:
        """What was held back. A block that was never closed stays hidden."""
        return self._take("", last=True)

    def _take(self, piece: str, *, last: bool) -> str:
        text, self._held = self._held + piece, ""
        visible: list[str] = []
        position = 0
        while True:
            tag = _CLOSE if self._thinking else _OPEN
            # search from `position` on, so that the look-behind still sees the backtick
            found = tag.search(text, position)
            if found is None:
                break
            if not self._thinking:
                visible.append(_CLOSE.sub("", text[position : found.start()]))
            self._thinking = not self._thinking
            position = found.end()
        rest = text[position:]
        partial = None if last else _PARTIAL_TAG.search(rest)
        if partial is not None:
            self._held = rest[partial.start() :]
            rest = rest[: partial.start()]
        if not self._thinking:
            visible.append(_CLOSE.sub("", rest))
        answer = "".join(visible)
        if not self._begun:
            answer = answer.lstrip()
            self._begun = bool(answer)
        return answer


def without_thinking(text: str) -> str:
    """A whole answer without thinking text.

    Some chat templates open the block in the prompt, so the answer holds the closing tag alone:
    everything before it was thinking.
    """
    closed = list(_CLOSE.finditer(text))
    if closed and not _OPEN.search(text, 0, closed[0].start()):
        text = text[closed[0].end() :]
    thinking = ThinkingFilter()
    return thinking.feed(text) + thinking.finish()

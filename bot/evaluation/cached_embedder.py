"""An embedder that keeps its vectors in a file, so that measuring again takes no time."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from memory.errors import EmbeddingFailed
from memory.ports import Embedder, InputType
from memory.types import Vector

_SCHEMA = "CREATE TABLE IF NOT EXISTS vector (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID"


class CachedEmbedder:
    """Implements `memory.ports.Embedder`: asks another one for what the file does not have.

    For measuring only: the file tells which texts were embedded.
    """

    def __init__(self, embedder: Embedder, path: Path) -> None:
        self._embedder = embedder
        self._file = sqlite3.connect(path, isolation_level=None)
        self._file.execute(_SCHEMA)

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def is_local(self) -> bool:
        return self._embedder.is_local

    async def dimension(self) -> int:
        """See `memory.ports.Embedder.dimension`."""
        return await self._embedder.dimension()

    async def embed(
        self, texts: Sequence[str], input_type: InputType
    ) -> list[Vector | EmbeddingFailed]:
        """See `memory.ports.Embedder.embed`. What failed is asked for again next time."""
        keys = [self._key(text, input_type) for text in texts]
        found: dict[bytes, Vector | EmbeddingFailed] = {
            key: np.frombuffer(value, dtype=np.float32)
            for key in keys
            for (value,) in self._file.execute("SELECT value FROM vector WHERE key = ?", (key,))
        }
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            made = await self._embedder.embed(list(missing.values()), input_type)
            for key, vector in zip(missing, made, strict=True):
                found[key] = vector
                if not isinstance(vector, EmbeddingFailed):
                    row = (key, vector.astype(np.float32).tobytes())
                    self._file.execute("INSERT OR REPLACE INTO vector VALUES (?, ?)", row)
        return [found[key] for key in keys]

    async def close(self) -> None:
        """Close the file and the embedder."""
        self._file.close()
        await self._embedder.close()

    def _key(self, text: str, input_type: InputType) -> bytes:
        said = "\x1f".join((self.name, input_type, text))
        return hashlib.sha256(said.encode("utf-8", "replace")).digest()

"""FAISS as the serving copy of the vectors: one exact index per audience and model.

The audience is part of the structure, so a search cannot meet a vector of another place, and
the best k of the readable places are found however many better ones lie elsewhere. An index is
built from the stored bytes when it is first wanted, kept within a byte budget, and built again
when its audience's version in SQL has moved on. There is no index file: nothing to corrupt.
Figures and the structures that lost are in docs/adr/0004-index.md.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import faiss
import numpy as np
import numpy.typing as npt
from sqlmodel import Session

from memory.store import embeddings
from memory.store.database import Database
from memory.store.embeddings import Model
from memory.types import Kind, Ref, Vector, Vectors

log = logging.getLogger(__name__)

DEFAULT_BUDGET = 1 << 30
"""Bytes of vectors to keep. Must exceed the largest audience, or every search rebuilds it."""

INLINE_ROWS = 2_000
"""Searches over more rows than this leave the event loop: 2,000 rows take about 150 µs."""

_VERSIONS = (
    "SELECT audience_id, version FROM audience_version WHERE model_id = ? AND audience_id IN ({})"
)

Keys = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float32]


@dataclass(slots=True)
class _Serving:
    """One audience's index. FAISS is not safe for a write beside a read: hold `lock` for both."""

    version: int
    indexes: dict[Kind, faiss.IndexIDMap2]
    """One per kind of record that there is or was, so that k of the wanted kinds are found
    whatever else there is."""
    bytes: int
    counts: dict[Kind, int] = field(default_factory=dict)
    """Rows of each kind that there is, counted here: asking FAISS costs more than an empty search
    of many small audiences should."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.count()

    def count(self) -> None:
        """Count the rows again after a change."""
        self.counts = {kind: index.ntotal for kind, index in self.indexes.items() if index.ntotal}

    def rows(self, kinds: Iterable[Kind]) -> int:
        return sum(self.counts.get(kind, 0) for kind in kinds)


class VectorIndex:
    """Exact search in the vectors of readable audiences. Safe to use from several tasks."""

    def __init__(self, database: Database, *, budget: int = DEFAULT_BUDGET) -> None:
        self._database = database
        self._budget = budget
        self._cache: OrderedDict[tuple[int, int], _Serving] = OrderedDict()
        self._building: dict[tuple[int, int], asyncio.Task[_Serving]] = {}
        self._bytes = 0

    async def search(
        self,
        model: Model,
        query: Vector,
        audience_ids: Sequence[int],
        k: int,
        kinds: Collection[Kind] = tuple(Kind),
    ) -> tuple[Keys, Scores]:
        """The k nearest: keys int64 (m,), cosines of centred vectors float32 (m,), best first.

        m is k when the audiences hold k vectors of these kinds. Equal scores come newest key
        first.
        Raises InvalidVector for a query that is not finite, has no length or the wrong size.
        """
        if k <= 0 or not audience_ids:
            return _EMPTY
        centred = model.calibration.center(embeddings.validate(query, model.dimension)[None, :])
        serving = await self._fresh(model, audience_ids)
        if sum(part.rows(kinds) for part in serving) <= INLINE_ROWS:
            return _search(serving, centred, k, kinds)
        return await asyncio.to_thread(_search, serving, centred, k, kinds)

    async def nearest(
        self, model: Model, query: Vector, audience_ids: Sequence[int], k: Mapping[Kind, int]
    ) -> dict[Kind, Keys]:
        """As `search`, the nearest of each kind by itself: so many keys as `k` says of it."""
        if not audience_ids:
            return dict.fromkeys(k, _EMPTY[0])
        centred = model.calibration.center(embeddings.validate(query, model.dimension)[None, :])
        serving = await self._fresh(model, audience_ids)

        def find() -> dict[Kind, Keys]:
            return {kind: _search(serving, centred, most, [kind])[0] for kind, most in k.items()}

        if sum(part.rows(k) for part in serving) <= INLINE_ROWS:
            return find()
        return await asyncio.to_thread(find)

    async def _fresh(self, model: Model, audience_ids: Sequence[int]) -> list[_Serving]:
        versions = self._versions(model, audience_ids)
        found: list[_Serving] = []
        for audience_id in audience_ids:
            version = versions.get(audience_id, 0)
            if version == 0:
                continue
            key = (audience_id, model.id)
            cached = self._cache.get(key)
            if cached is not None and cached.version == version:
                self._cache.move_to_end(key)
            while cached is None or cached.version < version:
                # again when the building that was joined had begun before the latest write
                cached = await self._build_once(key, model)
            found.append(cached)
        return found

    def _versions(self, model: Model, audience_ids: Sequence[int]) -> dict[int, int]:
        marks = ",".join("?" * len(audience_ids))
        rows = self._database.inline(_VERSIONS.format(marks), (model.id, *audience_ids))
        return dict(rows)

    async def _build_once(self, key: tuple[int, int], model: Model) -> _Serving:
        """Searches that want the same index at once share one building of it."""
        task = self._building.get(key)
        if task is None:
            task = asyncio.create_task(self._build(key, model))
            self._building[key] = task
        return await asyncio.shield(task)

    async def _build(self, key: tuple[int, int], model: Model) -> _Serving:
        try:
            built = await self._database.read(lambda session: _build(session, key[0], model))
        finally:
            # not in a callback: a search that came before it would join what has ended, for ever
            del self._building[key]
        self.evict(key)
        self._cache[key] = built
        self._bytes += built.bytes
        while self._bytes > self._budget and len(self._cache) > 1:
            self.evict(next(iter(self._cache)))
        return built

    def evict(self, key: tuple[int, int]) -> None:
        """Let go of one (audience id, model id), if it is held."""
        held = self._cache.pop(key, None)
        if held is not None:
            self._bytes -= held.bytes

    def apply(
        self,
        model: Model,
        audience_id: int,
        version: int,
        *,
        added: Sequence[tuple[int, Vector]] = (),
        removed: Iterable[int] = (),
    ) -> None:
        """Take over a change that has been committed as `version`, without reading again.

        When the copy is not the version just before, it is let go and built when next wanted.
        """
        key = (audience_id, model.id)
        held = self._cache.get(key)
        if held is None:
            return
        with held.lock:
            if held.version != version - 1:
                self.evict(key)
                return
            gone = [*removed, *(key for key, _ in added)]
            for kind in {Ref.from_key(key).kind for key in gone}:
                index = held.indexes.get(kind)
                if index is None:
                    index = held.indexes[kind] = _new_index(model)
                old = [key for key in gone if Ref.from_key(key).kind is kind]
                index.remove_ids(faiss.IDSelectorBatch(np.array(old, dtype=np.int64)))
                new = [(key, vector) for key, vector in added if Ref.from_key(key).kind is kind]
                if new:
                    vectors = model.calibration.center(np.stack([vector for _, vector in new]))
                    index.add_with_ids(vectors, np.array([key for key, _ in new], dtype=np.int64))
            held.count()
            before, held.version = held.bytes, version
            held.bytes = _bytes(held.rows(Kind), len(held.indexes), model)
            self._bytes += held.bytes - before


_KIND_BITS = 3
_EMPTY: tuple[Keys, Scores] = (np.empty(0, np.int64), np.empty(0, np.float32))


_INDEX_BYTES = 9_000
"""What an index takes before anything is in it (measured with faiss-cpu 1.15)."""


def _bytes(rows: int, indexes: int, model: Model) -> int:
    """Of each row the vector, the id, and the reverse map's entry."""
    return rows * (model.dimension * 4 + 8 + 48) + indexes * _INDEX_BYTES


def _new_index(model: Model) -> faiss.IndexIDMap2:
    return faiss.IndexIDMap2(faiss.IndexFlatIP(model.dimension))


def _build(session: Session, audience_id: int, model: Model) -> _Serving:
    version = embeddings.version(session, audience_id, model.id)
    keys, vectors = embeddings.load(session, audience_id, model)
    indexes = {}
    for kind in Kind:
        mine = keys & _KIND_BITS == kind
        if not mine.any():
            continue
        index = indexes[kind] = _new_index(model)
        if mine.all():
            index.add_with_ids(model.calibration.center(vectors), keys)
        else:
            index.add_with_ids(model.calibration.center(vectors[mine]), keys[mine])
    log.debug("built the index of audience %d: %d vectors", audience_id, len(keys))
    return _Serving(version, indexes, _bytes(len(keys), len(indexes), model))


def _search(
    serving: Sequence[_Serving], query: Vectors, k: int, kinds: Collection[Kind]
) -> tuple[Keys, Scores]:
    # A second thread gains nothing for one query, makes it wait for a busy core (2.3 ms instead
    # of 0.6 for 10,000 rows), and a fork would hang. OpenMP keeps this for each calling thread.
    faiss.omp_set_num_threads(1)
    found_scores, found_keys = [_EMPTY[1]], [_EMPTY[0]]
    for part in serving:
        for kind in kinds:
            if kind not in part.counts:
                continue
            with part.lock:
                rows = part.indexes[kind].ntotal
                if not rows:
                    continue
                scores, keys = part.indexes[kind].search(query, min(k, rows))
            found_scores.append(scores[0])
            found_keys.append(keys[0])
    scores, keys = np.concatenate(found_scores), np.concatenate(found_keys)
    order = np.lexsort((-keys, -scores))[:k]
    return keys[order], scores[order]

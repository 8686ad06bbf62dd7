"""Databases to measure on: the product's own tables with made-up contents."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from adapters.embedded_models import DIMENSION, NAME
from memory.calibration import Calibration
from memory.store.database import Database
from memory.store.embeddings import Model
from memory.types import Audience, Kind, Vectors
from tests.bench import filling, sentences

SENTENCES = 20_000
"""Distinct texts; a larger store repeats them."""

MEDIAN, P99, LARGEST = 21, 998, 0.1
"""Facts per audience in a large store, and the share of all facts that the largest has."""

Sizes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Store:
    """An open database and what it holds."""

    database: Database
    model: Model
    sizes: Sizes
    """Facts per audience; audience ids and fact ids run from 1 in this order."""
    vectors: Vectors
    """Of the facts, centred as the index centres them: float32 (facts, d), empty without."""

    def rows(self, audience_id: int) -> Vectors:
        """The centred vectors of one audience's facts."""
        end = int(self.sizes[:audience_id].sum())
        return self.vectors[end - int(self.sizes[audience_id - 1]) : end]


def audience_sizes(facts: int, audiences: int) -> Sizes:
    """Facts per audience, smallest first, adding up to `facts`.

    Log-normal by MEDIAN and P99. The last audience has LARGEST of all facts; the others above
    P99 share what is then left over.
    """
    spread = np.log(P99 / MEDIAN) / NormalDist().inv_cdf(0.99)
    normal = NormalDist(float(np.log(MEDIAN)), float(spread))
    shares = (np.arange(audiences - 1) + 0.5) / audiences
    sizes = np.array([max(1, round(np.exp(normal.inv_cdf(share)))) for share in shares])
    large = slice(int(audiences * 0.99), audiences - 1)
    largest = int(facts * LARGEST)
    left = facts - largest - int(sizes.sum())
    sizes[large] += left * sizes[large] // sizes[large].sum()
    return np.append(sizes, facts - int(sizes.sum())).astype(np.int64)


def query_vectors(count: int) -> Vectors:
    """Random directions, float32 (count, d), L2-normalised."""
    return filling.directions(np.random.default_rng(5), count, DIMENSION)


def vectors_only(folder: Path, sizes: Sequence[int] | Sizes) -> Store:
    """The vectors of facts, without their words."""
    counts, model = np.asarray(sizes, dtype=np.int64), _model()
    with filling.new_database(_url(folder), len(counts), model) as connection:
        vectors = filling.vectors(connection, counts, Kind.FACT, model)
    return Store(Database(_url(folder)), model, counts, vectors)


def keywords_only(folder: Path, sizes: Sequence[int] | Sizes) -> Store:
    """The keyword entries of facts, without anything else."""
    counts, model = np.asarray(sizes, dtype=np.int64), _model()
    with filling.new_database(_url(folder), len(counts), model) as connection:
        texts = sentences.statements(min(int(counts.sum()), SENTENCES))
        filling.keywords(connection, counts, [Kind.FACT], texts)
    return Store(Database(_url(folder)), model, counts, np.empty((0, DIMENSION), np.float32))


def conversation(folder: Path, facts: int) -> Store:
    """One audience in full: messages, the fact that each taught, their keywords and vectors."""
    counts, model = np.array([facts], dtype=np.int64), _model()
    texts = sentences.statements(min(facts, SENTENCES))
    with filling.new_database(_url(folder), 1, model) as connection:
        filling.messages_and_facts(connection, facts, texts)
        filling.keywords(connection, counts, [Kind.FACT, Kind.MESSAGE], texts)
        filling.vectors(connection, counts, Kind.MESSAGE, model)
        vectors = filling.vectors(connection, counts, Kind.FACT, model)
    return Store(Database(_url(folder)), model, counts, vectors)


def room(audience_id: int) -> Audience:
    """The place with this id."""
    return filling.room(audience_id)


def _url(folder: Path) -> str:
    return f"sqlite:///{folder / 'oboete.db'}"


def _model() -> Model:
    """As the bundled one, with a mean about as long as its own: centring has its real cost."""
    mean = query_vectors(1)[0] * np.float32(0.9)
    return Model(filling.MODEL_ID, NAME, DIMENSION, Calibration(mean, 0.0, 0.1), serving=True)


class Shelf:
    """The stores of one run, each built in a folder when it is first wanted."""

    def __init__(self, folder: Path, tell: Callable[[str], None] = lambda _: None) -> None:
        """`tell` hears what is being built."""
        self._folder = folder
        self._tell = tell
        self._built: dict[str, Store] = {}

    def conversation(self, facts: int) -> Store:
        """See `conversation`."""
        return self._get(f"conversation-{facts}", lambda path: conversation(path, facts))

    def vectors(self, sizes: Sequence[int] | Sizes) -> Store:
        """See `vectors_only`."""
        return self._get(f"vectors-{sum(sizes)}", lambda path: vectors_only(path, sizes))

    def keywords(self, sizes: Sequence[int] | Sizes) -> Store:
        """See `keywords_only`."""
        return self._get(f"keywords-{sum(sizes)}", lambda path: keywords_only(path, sizes))

    def let_go(self, store: Store) -> None:
        """Close a store and delete it: a large one is wanted by one benchmark only."""
        name = next(name for name, built in self._built.items() if built is store)
        del self._built[name]
        store.database.close()
        shutil.rmtree(self._folder / name)

    def close(self) -> None:
        """Close every database and let go of the vectors."""
        for store in self._built.values():
            store.database.close()
        self._built.clear()

    def _get(self, name: str, build: Callable[[Path], Store]) -> Store:
        if name not in self._built:
            self._tell(f"building {name}")
            self._built[name] = build(self._folder / name)
        return self._built[name]

"""What a similarity is worth, measured per embedding model.

Raw cosines of different models cannot be compared: with multilingual-e5-small, unrelated
sentences score 0.80. So the mean of a reference sample is subtracted first ("all-but-the-mean",
Mu & Viswanath 2018, arXiv:1702.01417), and scores are stated in standard deviations above the
scores of random pairs. The sample ships with Oboete and holds nobody's words, so a threshold
can never tell what somebody else has stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np
import numpy.typing as npt

from memory.errors import EmbedderUnavailable, EmbeddingFailed
from memory.ports import Embedder
from memory.types import Vector, Vectors


@dataclass(frozen=True, slots=True)
class Calibration:
    """Where a model puts unrelated text."""

    mean: Vector
    """float32 (d,): mean of the reference vectors; not normalised."""
    background_mean: float
    """Mean cosine of random pairs, after centring."""
    background_std: float
    """Its standard deviation."""

    def center(self, vectors: Vectors) -> Vectors:
        """Subtract the mean and normalise again: float32, same shape."""
        moved = vectors - self.mean
        norms = np.linalg.norm(moved, axis=-1, keepdims=True)
        return np.ascontiguousarray(moved / np.maximum(norms, 1e-12), dtype=np.float32)

    def standardize(self, cosines: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Centred cosines as standard deviations above the background."""
        scaled = (cosines - self.background_mean) / self.background_std
        return scaled.astype(np.float32)


def measure(vectors: Vectors) -> Calibration:
    """The calibration of a model from its vectors of a reference sample, float32 (n, d)."""
    mean = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    centred = Calibration(mean, 0.0, 1.0).center(vectors)
    cosines = (centred @ centred.T)[np.triu_indices(len(centred), k=1)]
    return Calibration(mean, float(cosines.mean()), max(float(cosines.std()), 1e-6))


async def calibrate(embedder: Embedder) -> Calibration:
    """Embed the reference sample and measure. Raises EmbedderUnavailable."""
    embedded = await embedder.embed(reference_texts(), "document")
    vectors = [item for item in embedded if not isinstance(item, EmbeddingFailed)]
    if len(vectors) < len(embedded) / 2:
        raise EmbedderUnavailable(f"{embedder.name} refused most of the reference sentences.")
    return measure(np.stack(vectors))


def reference_texts() -> Sequence[str]:
    """The sample: short unrelated sentences, half English and half Japanese, written for this."""
    path = resources.files("memory").joinpath("reference_sentences.txt")
    return path.read_text("utf-8").split("\n")[:-1]

"""Checking what an embedding model gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from memory.errors import EmbeddingFailed
from memory.types import Vector

BLANK = "There is no text to embed."


def unit_vector(row: Any, dimension: int) -> Vector:
    """`row`, a sequence of numbers, as float32 (dimension,), L2-normalised.

    Raises EmbeddingFailed when it is no such sequence, not finite, or has no length: servers
    answer with NaN or zeros for text that breaks their model.
    """
    try:
        array = np.asarray(row, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EmbeddingFailed("The model gave something that is not a vector.") from error
    if array.shape != (dimension,):
        raise EmbeddingFailed(f"The model gave shape {array.shape} instead of ({dimension},).")
    if not np.isfinite(array).all():
        raise EmbeddingFailed("The model gave numbers that are not finite.")
    # dividing by the largest first: squares of huge numbers would overflow
    largest = float(np.abs(array).max(initial=0.0))
    if largest < 1e-12:
        raise EmbeddingFailed("The model gave a vector without length.")
    array = array / largest
    return (array / np.linalg.norm(array)).astype(np.float32)

"""What a similarity is worth, per model."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest

from memory import calibration
from memory.calibration import Calibration
from memory.errors import EmbedderUnavailable
from memory.types import Vectors
from tests.fakes import FakeEmbedder


def narrow_cone(count: int, seed: int = 0) -> Vectors:
    """Vectors as some models make them: all alike, cosines around 0.8."""
    drawn = np.random.default_rng(seed).standard_normal((count, 32))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    drawn += 2 * np.eye(32)[0]
    vectors: Vectors = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
    return vectors


def test_unrelated_text_scores_around_zero_whatever_the_model() -> None:
    sample, fresh = narrow_cone(200), narrow_cone(200, seed=1)
    raw = (fresh @ fresh.T)[np.triu_indices(200, k=1)]
    assert raw.mean() > 0.7
    measured = calibration.measure(sample)
    centred = measured.center(fresh)
    scores = measured.standardize((centred @ centred.T)[np.triu_indices(200, k=1)])
    assert abs(scores.mean()) < 0.2
    assert scores.std() == pytest.approx(1.0, abs=0.2)


def test_the_same_text_scores_far_above_unrelated_text() -> None:
    measured = calibration.measure(narrow_cone(200))
    assert measured.standardize(np.array([1.0], dtype=np.float32))[0] > 4


def test_centring_keeps_length_one_and_never_divides_by_zero() -> None:
    vectors = narrow_cone(10)
    measured = Calibration(vectors[0], 0.0, 1.0)
    centred = measured.center(vectors)
    assert np.isfinite(centred).all()
    np.testing.assert_allclose(np.linalg.norm(centred[1:], axis=1), 1.0, atol=1e-5)
    assert centred.dtype == np.float32


def test_a_model_that_gives_one_vector_for_everything_is_measured_too() -> None:
    measured = calibration.measure(np.repeat(narrow_cone(1), 5, axis=0))
    assert np.isfinite(measured.standardize(np.array([0.0, 1.0], dtype=np.float32))).all()


async def test_calibration_asks_for_the_reference_sentences_once_as_documents() -> None:
    embedder = FakeEmbedder()
    measured = await calibration.calibrate(embedder)
    assert embedder.asked == [("document", text) for text in calibration.reference_texts()]
    assert measured.mean.shape == (64,)
    assert measured.background_std > 0


async def test_a_few_refused_sentences_do_not_matter_and_many_do() -> None:
    embedder = FakeEmbedder()
    texts = calibration.reference_texts()
    embedder.refused = set(texts[:10])
    await calibration.calibrate(embedder)
    embedder.refused = set(texts[: len(texts) // 2 + 1])
    with pytest.raises(EmbedderUnavailable, match="reference"):
        await calibration.calibrate(embedder)


def test_the_reference_sample_is_of_both_languages_and_has_no_repeats() -> None:
    texts = calibration.reference_texts()
    assert all(text == text.strip() and text for text in texts)
    assert len(set(texts)) == len(texts)
    japanese = [t for t in texts if any("HIRAGANA" in unicodedata.name(c, "") for c in t)]
    assert len(japanese) == len(texts) / 2

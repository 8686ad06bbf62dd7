"""What every `memory.ports.Embedder` promises."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from memory.errors import EmbeddingFailed
from memory.ports import Embedder, InputType
from memory.types import Vector, Vectors

ODD_TEXTS = [
    "\ud83d lone \udc00 surrogates",
    "\0 and \x01",
    "\u202eright to left\u202c العربية",
    "👩‍👩‍👧👍🏽🇯🇵",
    "\u200b\u200d\ufeff",
    "ﾊﾝｶｸ ＶＰＮ が",
    "\ufdfa" * 2_000,
    "a" * 100_000,
    "これは長い文章です。" * 10_000,
    "\ufffe\U0010ffff",
]


async def vectors_of(
    embedder: Embedder, texts: Sequence[str], input_type: InputType = "document"
) -> Vectors:
    results = await embedder.embed(texts, input_type)
    vectors: list[Vector] = []
    for result in results:
        assert not isinstance(result, EmbeddingFailed), result
        vectors.append(result)
    return np.stack(vectors)


class EmbedderContract:
    """Subclasses have a fixture `embedder`."""

    async def test_gives_one_unit_vector_per_text_in_order(self, embedder: Embedder) -> None:
        texts = ["猫が好きです", "I live in Osaka", "会議は午後3時です", "猫が好きです"]
        vectors = await vectors_of(embedder, texts)
        assert vectors.shape == (4, await embedder.dimension())
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
        np.testing.assert_array_equal(vectors[0], vectors[3])
        alone = await vectors_of(embedder, texts[1:2])
        np.testing.assert_allclose(alone[0], vectors[1], atol=1e-5)

    async def test_a_question_is_nearest_to_its_answer(self, embedder: Embedder) -> None:
        texts = ["The office is in Osaka near the castle", "私の好きな果物はりんごです"]
        documents = await vectors_of(embedder, texts)
        queries = await vectors_of(
            embedder, ["in Osaka near the castle?", "好きな果物は?"], "query"
        )
        assert list((queries @ documents.T).argmax(axis=1)) == [0, 1]

    async def test_no_texts_give_no_vectors(self, embedder: Embedder) -> None:
        assert await embedder.embed([], "document") == []

    @pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u3000"])
    async def test_a_blank_text_fails_and_its_neighbours_do_not(
        self, embedder: Embedder, blank: str
    ) -> None:
        before, failed, after = await embedder.embed(["猫", blank, "dog"], "query")
        assert isinstance(failed, EmbeddingFailed)
        assert not isinstance(before, EmbeddingFailed)
        assert not isinstance(after, EmbeddingFailed)

    async def test_odd_and_very_long_texts_are_embedded(self, embedder: Embedder) -> None:
        vectors = await vectors_of(embedder, ODD_TEXTS)
        assert np.isfinite(vectors).all()
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)

    async def test_several_callers_get_their_own_vectors(self, embedder: Embedder) -> None:
        texts = [f"text number {n} 番" for n in range(12)]
        expected = await vectors_of(embedder, texts)
        found = await asyncio.gather(*(vectors_of(embedder, [text]) for text in texts))
        np.testing.assert_allclose(np.concatenate(found), expected, atol=1e-5)

    async def test_says_what_it_is(self, embedder: Embedder) -> None:
        kind, _, model = embedder.name.partition(":")
        assert kind
        assert model
        assert isinstance(embedder.is_local, bool)

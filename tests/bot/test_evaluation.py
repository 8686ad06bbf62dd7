"""`oboete eval`: figures on data made up for this, in the layout of the evaluation data."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bot import app_models, cli, evaluation
from bot.evaluation import measures
from bot.evaluation.bench import Bench
from bot.evaluation.cached_embedder import CachedEmbedder
from bot.evaluation.data import MissingData
from memory.errors import EmbeddingFailed
from memory.ports import Embedder
from tests.fakes import FakeEmbedder

TURNS = [
    ("D1:1", "Mika", "I adopted a grey parrot yesterday", 1),
    ("D1:2", "Jonas", "What did you call the parrot?", 1),
    ("D1:3", "Mika", "Its name is Kiwi", 1),
    ("D1:4", "Jonas", "I am learning to bake bread", 1),
    ("D2:1", "Jonas", "The bakery offered me a job", 2),
    ("D2:2", "Mika", "Congratulations on the bakery job", 2),
]
DATA: dict[str, list[dict[str, Any]]] = {
    "memory/locomo_turns_en": [
        {
            "conv": "c",
            "session": session,
            "date": f"1:56 pm on {session} May, 2023",
            "dia_id": id_,
            "speaker": who,
            "text": text,
            "img": "a loaf of bread" if id_ == "D1:4" else None,
        }
        for id_, who, text, session in TURNS
    ],
    "memory/locomo_qa_en": [
        {"conv": "c", "question": "Which bird did Mika adopt?", "evidence": ["D1:1"]},
        {"conv": "c", "question": "Who offered Jonas a job?", "evidence": ["D2:1; D2:2", "D9:9"]},
        {"conv": "c", "question": "Nothing supports this", "evidence": ["D"]},
    ],
    "memory/realpersonachat_sessions_ja": [
        {
            "user": "AA",
            "session": 7,
            "start": "2022-08-07T00:47:47",
            "turns": [
                {"uid": 0, "speaker": "BB", "text": "趣味は何ですか？"},
                {"uid": 1, "speaker": "AA", "text": "週末は陶芸をしています"},
                {"uid": 2, "speaker": "BB", "text": "いいですね"},
            ],
        }
    ],
    "memory/realpersonachat_facts_ja": [
        {
            "speaker": "AA",
            "fact": "陶芸をしています。",
            "evidence": [{"session": 7, "utterance_id": 1, "text": ""}],
        }
    ],
    "memory/tiny_updates_en": [
        {
            "task": "Colours",
            "script": [
                "My favourite colour is Red.",
                "My favourite colour is Blue.",
                "What is it?",
            ],
            "is_question": [False, False, True],
            "expected": ["Blue"],
        },
        {
            "task": "Shopping",
            "script": ["Add two apples to my list.", "What is on my list?"],
            "is_question": [False, True],
            "expected": [["apples", 2]],
        },
    ],
    "retrieval/birds_corpus": [
        {"id": "b1", "title": "Grey_parrot", "text": "It lives in Africa. It can talk."},
        {"id": "b2", "title": "Penguin", "text": "It lives in the south. It cannot fly."},
        {"id": "b3", "title": "カワセミ", "text": "川の近くに住む。魚を捕る。"},
    ],
    "retrieval/birds_questions": [
        {"question": "Where does the grey parrot live?", "gold": ["b1"]},
        {"question": "カワセミは何を捕る？", "gold": ["b3"]},
    ],
    "retrieval/birds_unanswerable": [{"question": "Who won the chess match?", "gold": []}],
    "pairs/dup_pairs_en": [
        {"a": "I like cats", "b": "I like cats", "label": "SAME", "kind": "paraphrase"},
        {"a": "I like cats", "b": "I do not like cats", "label": "DIFFERENT", "kind": "negation"},
        {"a": "I have 2 cats", "b": "I have 3 cats", "label": "DIFFERENT", "kind": "number"},
    ],
    "pairs/sts_graded_ja": [
        {"a": "猫が寝ている", "b": "猫が寝ている", "score": 5.0},
        {"a": "猫が寝ている", "b": "猫が起きている", "score": 3.0},
        {"a": "猫が寝ている", "b": "株価が上がった", "score": 0.0},
    ],
    "rewrite/tiny_turns_en": [
        {
            "history": [
                {"role": "user", "text": "Tell me about the grey parrot"},
                {"role": "assistant", "text": "It is a bird."},
            ],
            "question": "Where does it live?",
            "manual": "Where does the grey parrot live?",
            "gold": ["p1"],
        }
    ],
    "rewrite/tiny_passages_en": [
        {"id": "p1", "text": "The grey parrot lives in the forest."},
        {"id": "p2", "text": "The emperor penguin lives on the ice."},
        {"id": "p3", "text": "The brown bear lives in its cave."},
    ],
    "rewrite/short_en": [
        {
            "history": [{"role": "user", "text": "Who painted the Night Watch?"}],
            "question": "When did he paint it?",
            "gold": "When did Rembrandt paint the Night Watch?",
        }
    ],
    "rewrite/asdc_scud_ja": [
        {
            "history": [{"role": "assistant", "text": "ご希望は？"}],
            "utterance": "私は大阪に住んでいます。",
            "gold_facts": ["大阪に住んでいる。"],
        }
    ],
    "extract/asdc_no_fact_ja": [
        {"history": [], "utterance": "ありがとうございます。", "gold_facts": []}
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, rows in DATA.items():
        path = tmp_path / "data" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "data"


async def figures(kind: str, folder: Path, embedder: Embedder | None = None) -> Any:
    bench = Bench(folder, embedder or FakeEmbedder(), None, lambda *_: None)
    return (await evaluation.run(kind, bench)).as_data()


async def test_evidence_is_looked_for_among_the_turns_of_its_conversation(folder: Path) -> None:
    report = await figures("retrieval", folder)
    assert report["kind"] == "retrieval"
    assert report["model"] is None
    assert report["embedder"] == FakeEmbedder().name
    assert report["sets"] == {
        "locomo_qa_en": {"share@5": 100.0, "share@10": 100.0, "share@20": 100.0, "n": 2.0},
        "realpersonachat_facts_ja": {
            "share@5": 100.0,
            "share@10": 100.0,
            "share@20": 100.0,
            "n": 1.0,
        },
    }


async def test_documents_are_found_by_title_and_sentence(folder: Path) -> None:
    figure = (await figures("documents", folder))["sets"]["birds_questions"]
    assert figure["n"] == 2
    assert figure["n_unanswerable"] == 1
    assert figure["hit@1"] == figure["mrr"] == figure["auc"] == 100.0
    assert set(figure) >= {"hit@5", "hit@10", "false_answer", "false_refusal"}


async def test_pairs_are_judged_as_facts_that_are_said_one_after_the_other(folder: Path) -> None:
    assert (await figures("dedup", folder))["sets"]["dup_pairs_en"] == {
        "accuracy": 100.0,
        "recall_same": 100.0,
        "false_merge": 0.0,
        "false_merge:negation": 0.0,
        "false_merge:number": 0.0,
        "n": 3.0,
    }


async def test_only_tasks_that_change_a_value_are_scored(folder: Path) -> None:
    figure = (await figures("updates", folder))["sets"]["tiny_updates_en"]
    assert figure["n"] == 1
    assert figure["latest_found"] == 100.0
    assert figure["zero_left"] == 0.0
    assert figure["n:Shopping"] == 1


async def test_a_question_that_leans_is_widened_by_what_was_asked_before(folder: Path) -> None:
    sets = (await figures("rewrite", folder))["sets"]
    searched, rewritten = sets["tiny_turns_en"], sets["short_en"]
    assert searched["mrr"] > searched["mrr:raw"]
    assert searched["hit@1:manual"] == searched["leaning"] == 100.0
    assert rewritten["recall"] > rewritten["recall:raw"]


async def test_facts_are_read_where_there_are_some_and_only_there(folder: Path) -> None:
    sets = (await figures("extract", folder))["sets"]
    assert sets["asdc_scud_ja"]["recall"] == 100.0
    assert sets["asdc_scud_ja"]["n"] == 1
    assert sets["asdc_no_fact_ja"] == {"spurious": 0.0, "n": 1.0}


async def test_similarity_is_compared_with_the_grades_of_people(folder: Path) -> None:
    figure = (await figures("calibrate", folder))["sets"]["sts_graded_ja"]
    assert figure["spearman"] == pytest.approx(100.0)
    assert figure["auc"] == 100.0


@pytest.mark.parametrize("kind", ["retrieval", "documents", "rewrite"])
async def test_the_same_data_gives_the_same_figures(folder: Path, kind: str) -> None:
    first, second = await figures(kind, folder), await figures(kind, folder)
    assert first["sets"] == second["sets"]


@pytest.mark.parametrize("kind", sorted(evaluation.KINDS))
async def test_missing_data_is_named(tmp_path: Path, kind: str) -> None:
    with pytest.raises(MissingData, match=str(tmp_path)):
        await figures(kind, tmp_path)


# -- the command ---------------------------------------------------------------------------------


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["oboete", "eval", *arguments])
    monkeypatch.setattr(app_models, "make_embedder", lambda *_: FakeEmbedder())
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_the_command_prints_one_object(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "dedup", "--data", str(folder), "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert list(report) == ["kind", "model", "embedder", "seconds", "sets"]
    assert report["sets"]["dup_pairs_en"]["n"] == 3


def test_the_command_prints_a_table_with_intervals(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "dedup", "--data", str(folder)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "dup_pairs_en" in lines
    assert any("accuracy" in line and "100.0  [43.9, 100.0]" in line for line in lines)


@pytest.mark.parametrize(
    "arguments", [("dedup", "--data", "/nowhere/at/all"), ("unheard-of", "--data", ".")]
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    arguments: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, *arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1


# -- vectors that are kept -----------------------------------------------------------------------


async def test_kept_vectors_are_not_asked_for_again(tmp_path: Path) -> None:
    first = FakeEmbedder()
    cached = CachedEmbedder(first, tmp_path / "vectors")
    made = await cached.embed(["a cat", "猫", "a cat"], "document")
    await cached.close()
    assert first.asked == [("document", "a cat"), ("document", "猫")]

    second = FakeEmbedder()
    cached = CachedEmbedder(second, tmp_path / "vectors")
    again = await cached.embed(["猫", "a cat"], "document")
    await cached.embed(["猫"], "query")
    await cached.close()
    assert second.asked == [("query", "猫")]
    assert [list(vector) for vector in again] == [list(made[1]), list(made[0])]  # type: ignore[arg-type]


async def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    embedder.refused.add("a cat")
    cached = CachedEmbedder(embedder, tmp_path / "vectors")
    (failed,) = await cached.embed(["a cat"], "document")
    assert isinstance(failed, EmbeddingFailed)
    embedder.refused.clear()
    (made,) = await cached.embed(["a cat"], "document")
    assert not isinstance(made, EmbeddingFailed)
    await cached.close()


# -- figures -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "rows", "expected"),
    [(0.0, 24, (0.0, 13.8)), (50.0, 10, (23.7, 76.3)), (100.0, 98, (96.2, 100.0))],
)
def test_intervals_are_those_of_wilson(
    value: float, rows: int, expected: tuple[float, float]
) -> None:
    interval = measures.Measure(value, rows).interval
    assert interval == pytest.approx(expected, abs=0.05)


def test_what_is_no_share_of_rows_has_no_interval() -> None:
    assert measures.Measure(3.0).interval is None
    assert measures.share([]).interval is None


def test_ties_count_half() -> None:
    assert measures.auc([2.0, 1.0], [1.0]).value == 75.0
    assert measures.rank_correlation([1, 2, 3], [10, 20, 30]) == pytest.approx(1.0)
    assert measures.rank_correlation([1, 2, 2, 3], [3, 2, 2, 1]) == pytest.approx(-1.0)


def test_hits_are_counted_from_the_first_right_record() -> None:
    found = measures.found_at([["x", "a"], ["b"], []], [["a"], ["b"], ["c"]], (1, 2))
    assert found["hit@1"].value == pytest.approx(100 / 3)
    assert found["hit@2"].value == pytest.approx(200 / 3)
    assert found["mrr"].value == pytest.approx(50.0)

"""Which structure for keyword search? Postings in plain SQL against two layouts of FTS5.

    python -m tests.bench.lexical_structures --documents 1000000 --audiences 10000

Builds each in a folder of its own from the same synthetic records (half Japanese, half English;
audience sizes log-normal with a median of 21 and one large audience), then measures a commit, a
search in a small and in the large audience and in everything, forgetting, and the file. FTS5 gets
the same terms, coded as ASCII so that its tokenizer leaves them alone, either with the audience
in front of every term (`prefixed`) or as one more term that is joined with AND (`anded`).
Trust ratios, not milliseconds.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
from sqlalchemy import insert
from sqlmodel import Session, SQLModel

from memory import bm25, lexical, tokens
from memory.store.database import Database
from memory.tables import AudienceRow

Record = tuple[int, int, str]
"""Audience, key, text."""

QUESTIONS = (
    "京都へ引っ越した人は誰ですか",
    "田中さんが好きな食べ物は何？",
    "次の会議はいつどこでありますか",
    "Who moved to Kyoto last year?",
    "What does Tanaka like to eat for lunch?",
    "When is the next meeting about the server?",
)
UNIQUE = "zyzzyvaquux"
SOUGHT = UNIQUE[3:].encode()
"""FTS5 leaves out the letters that a word shares with the one before it."""


class Structure(Protocol):
    """One way to hold the same records."""

    name: str

    def add(self, session: Session, records: list[Record]) -> None: ...
    def remove(self, session: Session, record: Record) -> None: ...
    def compact(self, session: Session) -> None:
        """What must be done so that removed words are out of the file."""
        ...

    def search(self, session: Session, audiences: list[int], question: str) -> list[int]: ...


class Postings:
    """`memory.lexical` as it ships."""

    name = "postings"

    def add(self, session: Session, records: list[Record]) -> None:
        lexical.add_many(session, [lexical.NewEntry(*record) for record in records])

    def remove(self, session: Session, record: Record) -> None:
        lexical.remove(session, record[0], record[1])

    def compact(self, session: Session) -> None:
        pass

    def search(self, session: Session, audiences: list[int], question: str) -> list[int]:
        return [hit.key for hit in lexical.search(session, audiences, question, 10)]


class FullText:
    """FTS5, external content (none is kept), bm25 over the whole table."""

    def __init__(self, *, prefixed: bool) -> None:
        self.prefixed = prefixed
        self.name = "fts5 prefixed" if prefixed else "fts5 anded"

    def _content(self, audience: int, text: str) -> str:
        each = [_coded(term) for term in tokens.terms(text)]
        if self.prefixed:
            return " ".join(f"a{audience}x{term}" for term in each)
        return " ".join([f"a{audience}", *each])

    def add(self, session: Session, records: list[Record]) -> None:
        connection = session.connection()
        connection.exec_driver_sql(
            "CREATE VIRTUAL TABLE IF NOT EXISTS words"
            " USING fts5(terms, content='', tokenize='unicode61')"
        )
        connection.exec_driver_sql(
            "INSERT INTO words (rowid, terms) VALUES (?, ?)",
            [(key, self._content(audience, text)) for audience, key, text in records],
        )

    def remove(self, session: Session, record: Record) -> None:
        audience, key, text = record
        session.connection().exec_driver_sql(
            "INSERT INTO words (words, rowid, terms) VALUES ('delete', ?, ?)",
            (key, self._content(audience, text)),
        )

    def compact(self, session: Session) -> None:
        session.connection().exec_driver_sql("INSERT INTO words (words) VALUES ('optimize')")

    def search(self, session: Session, audiences: list[int], question: str) -> list[int]:
        each = [_coded(term) for term in tokens.query_terms(question).exact]
        if self.prefixed:
            match = " OR ".join(f"a{audience}x{term}" for audience in audiences for term in each)
        else:
            match = "(" + " OR ".join(each) + ")"
            if len(audiences) < 1_000:  # beyond that, all: it stands for a search without filter
                match = "(" + " OR ".join(f"a{a}" for a in audiences) + ") AND " + match
        rows = session.connection().exec_driver_sql(
            "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 10", (match,)
        )
        return [row[0] for row in rows]


def _coded(term: str) -> str:
    return term if term.isascii() and term.isalnum() else "u" + term.encode().hex()


def records(documents: int, audiences: int, seed: int = 7) -> Iterator[list[Record]]:
    """All records, one list per audience: two clauses each, out of 20,000 with Zipf-like words."""
    source = random.Random(seed)
    clauses = [_clause(source) for _ in range(20_000)]
    large = documents // 10
    shape = [source.lognormvariate(np.log(21), 1.66) for _ in range(audiences - 1)]
    sizes = [large, *(max(1, round(size * (documents - large) / sum(shape))) for size in shape)]
    key = 0
    for audience, size in enumerate(sizes, 1):
        batch = []
        for _ in range(size):
            key += 4
            batch.append((audience, key, f"{source.choice(clauses)} {source.choice(clauses)}"))
        yield batch


def _clause(source: random.Random) -> str:
    def pick(words: str) -> str:
        each = words.split()
        return each[int(len(each) * source.random() ** 2)]

    number = source.randrange(1, 3_000)
    if source.random() < 0.5:
        who = pick("田中 佐藤 鈴木 高橋 渡辺 伊藤 山本 中村 小林 加藤 吉田 山田 松本 井上 木村")
        what = pick("会議 資料 昼ご飯 サーバー 猫 珈琲 予算 旅行 写真 音楽 本 駅 学校 公園 自転車")
        where = pick("東京 京都 大阪 札幌 福岡 名古屋 横浜 神戸 仙台 広島 那覇 金沢 奈良 長野")
        did = pick("行きました 食べたいです 引っ越した 好きです 送ってください 買った 直しました")
        return f"{who}さんは{where}で{number}番の{what}を{did}。"
    who = pick("Tanaka Alice Bob Carol Dave Erin Frank Grace Heidi Ivan Judy Mallory Niaj Olivia")
    what = pick("meeting server lunch budget cat coffee report trip photo music book bike school")
    where = pick("Tokyo Kyoto Osaka London Paris Berlin Madrid Rome Vienna Oslo Dublin Lisbon")
    did = pick("moved liked ate sent bought fixed planned cancelled wanted forgot painted")
    return f"{who} {did} the {what} number {number} in {where} last year."


def measure(structure: Structure, folder: Path, documents: int, audiences: int) -> None:
    """Print one structure's figures."""
    database = Database(f"sqlite:///{folder / 'bench.db'}")
    SQLModel.metadata.create_all(database.engine)
    with Session(database.engine) as session:
        session.connection().execute(
            insert(AudienceRow), [{"id": n, "name": f"a:b:{n}"} for n in range(1, audiences + 1)]
        )
        session.commit()
        sizes: dict[int, int] = {}
        started = time.perf_counter()
        waiting: list[Record] = []
        for batch in records(documents, audiences):
            sizes[batch[0][0]] = len(batch)
            waiting += batch
            if len(waiting) >= 20_000:
                structure.add(session, waiting)
                session.commit()
                waiting = []
        structure.add(session, waiting)
        session.commit()
        count = sum(sizes.values())
        _report(structure, f"build {count} records", [time.perf_counter() - started])

        source = random.Random(1)
        key = 4 * count
        for title, places in (("some audience", range(2, audiences + 1)), ("the largest", [1])):
            spent = []
            for _ in range(100):
                key += 4
                record = (source.choice(places), key, f"{_clause(source)} {_clause(source)}")
                spent.append(_commit(session, partial(structure.add, session, [record])))
            _report(structure, f"add one to {title} and commit", spent)
        middle = [a for a, size in sizes.items() if 500 <= size <= 1_500][:20]
        many = [a for a, size in sizes.items() if size < 100][:300]
        for title, groups in (
            ("search one audience of about 1,000", [[a] for a in middle]),
            ("search the largest audience", [[1]] * 5),
            ("search 300 small audiences", [many] * 5),
        ):
            spent = [
                _time(partial(structure.search, session, group, question))
                for group in groups
                for question in QUESTIONS
            ]
            _report(structure, f"{title}, {sum(sizes[a] for a in groups[0])} records", spent)
        if structure.name != "fts5 prefixed":  # it would need one term per audience and word
            everywhere = [
                _time(partial(structure.search, session, list(sizes), question))
                for question in QUESTIONS
            ]
            _report(structure, "search everything", everywhere)
        if isinstance(structure, Postings):
            _report_shortcut(structure, session)

        secret = (2, key + 4, f"my word is {UNIQUE}")
        structure.add(session, [secret])
        session.commit()
        _checkpoint(session)
        forgetting = _commit(session, partial(structure.remove, session, secret))
        _report(structure, "forget one", [forgetting])
        _checkpoint(session)
        print(f"{structure.name}: its word is in the file: {_holds_word(folder)}")
        _report(structure, "compact", [_commit(session, partial(structure.compact, session))])
        _checkpoint(session)
        print(f"{structure.name}: its word is in the file: {_holds_word(folder)}")
    size = (folder / "bench.db").stat().st_size
    print(f"{structure.name}: file {size / 1e6:.0f} MB, {size / count:.0f} bytes a record")
    database.close()


def _commit(session: Session, work: Callable[[], None]) -> float:
    def both() -> None:
        work()
        session.commit()

    return _time(both)


def _time(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _report_shortcut(structure: Postings, session: Session) -> None:
    """How much of the exact top 10 is found when common terms only add to scores."""
    quick = [structure.search(session, [1], question) for question in QUESTIONS]
    setting, bm25.PROPOSING_POSTINGS = bm25.PROPOSING_POSTINGS, 10**9
    exact = [structure.search(session, [1], question) for question in QUESTIONS]
    spent = [_time(partial(structure.search, session, [1], question)) for question in QUESTIONS]
    bm25.PROPOSING_POSTINGS = setting
    same = [len(set(a) & set(b)) / max(1, len(b)) for a, b in zip(quick, exact, strict=True)]
    _report(structure, "search the largest audience, every posting", spent)
    print(f"{structure.name}: share of the exact top 10 found: {np.mean(same):.3f}")


def _checkpoint(session: Session) -> None:
    raw = session.connection().engine.raw_connection()
    session.rollback()
    raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    raw.close()


def _holds_word(folder: Path) -> bool:
    return any(SOUGHT in path.read_bytes() for path in folder.iterdir())


def _report(structure: Structure, title: str, seconds: list[float]) -> None:
    p50, p95 = np.percentile(np.array(seconds) * 1e3, [50, 95])
    print(f"{structure.name}: {title}: p50 {p50:.2f} ms, p95 {p95:.2f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--audiences", type=int, default=1_000)
    parser.add_argument("--folder", type=Path, help="where to build (default: a temporary one)")
    given = parser.parse_args()
    structures: list[Structure] = [Postings(), FullText(prefixed=True), FullText(prefixed=False)]
    for structure in structures:
        folder = Path(tempfile.mkdtemp(dir=given.folder))
        try:
            measure(structure, folder, given.documents, given.audiences)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()

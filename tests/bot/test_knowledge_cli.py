"""`oboete ingest`, `sources`, `bases`, `databases` and `mcp` as somebody runs them."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import typer

from bot.knowledge_cli import expand

ROOT = Path(__file__).parents[2]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A working folder with a few documents."""
    docs = tmp_path / "docs"
    (docs / "deep" / ".git").mkdir(parents=True)
    (docs / "handbook.md").write_text("# Handbook\n\n## Leave\n\nTwenty days of paid leave.\n")
    (docs / "deep" / "規程.txt").write_text("在宅勤務は週に三日まで認められる。", encoding="cp932")
    (docs / "deep" / "broken.pdf").write_bytes(b"%PDF-1.4\n")
    (docs / "deep" / ".git" / "notes.md").write_text("hidden")
    (docs / "picture.png").write_bytes(b"\x89PNG")
    return tmp_path


def environment(home: Path, **more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "OBOETE_DATA_DIR": str(home / "data"),
        # an address where nothing listens: words alone must do, and no model is loaded
        "OBOETE_EMBEDDER": "ollama:none",
        "OLLAMA_HOST": "http://127.0.0.1:9",
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "ignore",
        **more,
    }


def oboete(home: Path, *arguments: str, code: int = 0, **more: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "bot", *arguments],
        cwd=home,
        env=environment(home, **more),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stdout + done.stderr


def test_folders_files_and_patterns_give_each_file_once(home: Path) -> None:
    docs = home / "docs"
    found = expand([str(docs), str(docs / "handbook.md"), str(docs / "**" / "*.md")])
    assert [path.name for path in found][:3] == ["broken.pdf", "規程.txt", "handbook.md"]
    assert len(found) == len(set(found))
    assert "picture.png" not in {path.name for path in found}
    assert [path.name for path in expand([str(docs / "picture.png")])] == ["picture.png"]
    with pytest.raises(typer.BadParameter):
        expand([str(docs / "nothing*.md")])


def test_links_out_of_a_folder_are_not_followed(home: Path) -> None:
    docs, outside = home / "docs", home / "outside"
    outside.mkdir()
    (outside / "token.txt").write_text("secret")
    (docs / "メモ.txt").symlink_to(outside / "token.txt")
    (docs / "all").symlink_to(outside)
    (docs / "loop.md").symlink_to(docs / "loop.md")
    (docs / "same.md").symlink_to(docs / "handbook.md")
    names = [path.name for path in expand([str(docs)])]
    assert sorted(names) == ["broken.pdf", "handbook.md", "規程.txt"]
    assert [path.name for path in expand([str(docs / "メモ.txt")])] == ["token.txt"]  # named
    (home / "linked").symlink_to(docs)
    assert {path.name for path in expand([str(home / "linked")])} == set(names)


@pytest.mark.slow
def test_documents_from_the_terminal(home: Path) -> None:
    said = oboete(home, "ingest", "docs", "--base", "Handbook", "--channel", "general", code=1)
    assert "handbook.md: added" in said
    assert "broken.pdf: This file is damaged" in said
    again = json.loads(oboete(home, "ingest", "docs/handbook.md", "--base", "handbook", "--json"))
    assert [file["outcome"] for file in again["files"]] == ["unchanged"]
    (home / "docs" / "handbook.md").write_text("# Handbook\n\nThirty days of leave.\n")
    changed = oboete(home, "ingest", "docs/handbook.md", "--base", "handbook")
    assert "replaced" in changed
    (base,) = json.loads(oboete(home, "bases", "--json"))["bases"]
    assert (base["sources"], base["audience"]) == (2, "console:local:general")
    sources = json.loads(oboete(home, "sources", "list", "--json"))["sources"]
    assert {source["name"] for source in sources} == {"規程.txt", "handbook.md"}
    hits = json.loads(oboete(home, "search", "在宅勤務", "--channel", "general", "--json"))["hits"]
    assert hits[0]["kind"] == "chunk"
    assert json.loads(oboete(home, "bases", "--channel", "other", "--json"))["bases"] == []
    oboete(home, "sources", "remove", "999", code=1)
    for source in sources:
        oboete(home, "sources", "remove", str(source["id"]))
    assert json.loads(oboete(home, "sources", "list", "--json"))["sources"] == []
    assert "Everything agrees" in oboete(home, "check")


@pytest.mark.slow
def test_without_a_channel_a_new_base_is_for_administrators(home: Path) -> None:
    oboete(home, "ingest", "docs/handbook.md", "--base", "internal")
    as_admin = oboete(home, "bases", "--user", "taro", "--json", OBOETE_ADMINS="console:local:taro")
    shown = json.loads(as_admin)["bases"]
    assert [base["name"] for base in shown] == ["internal"]
    for user in ("hanako", "taro"):
        hidden = json.loads(oboete(home, "bases", "--user", user, "--json"))["bases"]
        assert hidden == [], user


@pytest.mark.slow
def test_an_ingest_that_is_killed_goes_on(home: Path) -> None:
    many = home / "many"
    many.mkdir()
    for number in range(30):
        text = "\n\n".join(f"Rule {number}.{part}: keep the door shut." for part in range(20))
        (many / f"{number:02}.md").write_text(text)
    command = [sys.executable, "-m", "bot", "ingest", "many", "--base", "rules"]
    process = subprocess.Popen(
        command, cwd=home, env=environment(home), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for _ in range(5):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    time.sleep(0.2)
    oboete(home, "ingest", "many", "--base", "rules")
    sources = json.loads(oboete(home, "sources", "list", "--json"))["sources"]
    assert sorted(source["name"] for source in sources) == [f"{n:02}.md" for n in range(30)]
    assert "Everything agrees" in oboete(home, "check")


@pytest.mark.slow
def test_databases_are_registered_but_never_our_own(home: Path) -> None:
    (home / "sales.csv").write_text("商品,数量\nりんご,3\n", encoding="cp932")
    said = oboete(home, "databases", "add", "sales", "sales.csv", "--channel", "general")
    assert "general" in said
    listed: dict[str, Any] = json.loads(oboete(home, "databases", "list", "--json"))
    assert [each["name"] for each in listed["databases"]] == ["sales"]
    own = home / "data" / "oboete.db"
    link = home / "innocent.db"
    link.symlink_to(own)
    for path in (own, link):
        assert "private messages" in oboete(home, "databases", "add", "x", str(path), code=1)
    plain = home / "plain.db"
    sqlite3.connect(plain).close()
    oboete(home, "databases", "add", "x", str(plain), code=1)
    oboete(home, "databases", "remove", "sales")
    oboete(home, "databases", "remove", "sales", code=1)
    assert not list((home / "data" / "tables").iterdir())


@pytest.mark.slow
def test_tokens_are_shown_once_and_revoked(home: Path) -> None:
    secret = oboete(home, "mcp", "issue", "--user", "taro", "--label", "editor").strip()
    (token,) = json.loads(oboete(home, "mcp", "tokens", "--json"))["tokens"]
    assert (token["person"], token["label"]) == ("console:local:taro", "editor")
    assert secret.encode() not in (home / "data" / "oboete.db").read_bytes()
    oboete(home, "mcp", "revoke", str(token["id"]))
    refused = oboete(home, "mcp", code=2, OBOETE_MCP_TOKEN=secret)
    assert secret not in refused
    assert "token in OBOETE_MCP_TOKEN is not valid (any more). Make a token with" in refused
    assert "OBOETE_MCP_TOKEN is not set. Make a token with" in oboete(home, "mcp", code=2)


def test_a_new_base_says_when_administrators_alone_can_read_it(home: Path) -> None:
    told = oboete(home, "ingest", "docs/handbook.md", "--base", "closed")
    assert "handbook.md: added, 1 section, 1 chunk" in told  # Markdown has no pages
    assert "1 section, 1 chunk" in oboete(home, "sources", "list")
    assert "Administrators alone read it" in told
    told = oboete(home, "ingest", "docs/handbook.md", "--base", "mine", "--channel", "@taro")
    assert told.endswith("Base mine is readable in console:local:@taro.\n")

"""Imports point one way, and nothing happens by importing.

The order is that of docs/architecture.md. A module may import what stands on its own line or
before it; adapters see types, ports, errors and the messages, and only the composition sees them.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("memory", "bot", "adapters", "migrations")

INNERMOST = ("memory.types", "memory.ports", "memory.errors")
FACADE = "memory.long_term"
COMPOSITION = re.compile(
    r"bot\.(?:app\w*|cli|\w+_cli|cli_\w+|__main__|doctor|eval\w*|backup|batch)(?:\.|$)"
)
"""The modules that put parts together, or are commands over the whole: they may see adapters."""

SEEN_BY_ADAPTERS = (
    *INNERMOST,
    "bot.messages",
    "bot.ports",
    "bot.errors",
    "adapters",
)


@cache
def modules() -> dict[str, Path]:
    """Every module of the program, by its dotted name."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = path
    return found


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


@cache
def imports(module: str) -> frozenset[str]:
    """The modules of the program that a module imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{module}: relative import"
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules() else node.module for name in whole]
        else:
            continue
        found.update(name for name in names if name.partition(".")[0] in PACKAGES)
    return frozenset(found)


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def violations(of: Iterator[str], allowed: object) -> list[str]:
    assert callable(allowed)
    return [
        f"{module} imports {name}"
        for module in of
        for name in sorted(imports(module))
        if name != module and not allowed(name)
    ]


def those(*packages: str) -> Iterator[str]:
    return (module for module in modules() if within(module, *packages))


def test_the_program_is_found() -> None:
    assert {"memory.types", "bot.app", "adapters.console_platform", "migrations"} <= set(modules())


def test_memory_knows_neither_bot_nor_adapters() -> None:
    assert violations(those("memory"), lambda name: within(name, "memory")) == []


@pytest.mark.parametrize("module", INNERMOST)
def test_the_innermost_see_only_each_other(module: str) -> None:
    assert violations(iter([module]), lambda name: name in INNERMOST) == []


def test_rows_stay_in_memory() -> None:
    outside = (m for m in modules() if within(m, "bot", "adapters"))
    assert violations(outside, lambda name: name != "memory.tables") == []


def test_the_store_sees_nothing_of_what_is_built_on_it() -> None:
    above = (FACADE, "memory.retrieve", "memory.reconcile", "memory.forgetting", "memory.embedding")
    below = those("memory.store", "memory.tables", "memory.lexical", "memory.bm25", "memory.index")
    assert violations(below, lambda name: not within(name, *above)) == []


def test_retrieval_and_reconciliation_do_not_see_the_facade() -> None:
    inner = those("memory.retrieve", "memory.reconcile", "memory.ranking", "memory.forgetting")
    assert violations(inner, lambda name: name != FACADE) == []


def test_the_analysis_of_text_stands_by_itself() -> None:
    allowed = ("memory.analysis", "memory.types")
    assert violations(those("memory.analysis"), lambda name: within(name, *allowed)) == []


def test_adapters_see_types_ports_errors_and_messages_only() -> None:
    assert violations(those("adapters"), lambda name: within(name, *SEEN_BY_ADAPTERS)) == []


def test_only_the_composition_sees_adapters_and_migrations() -> None:
    core = (module for module in those("bot") if not COMPOSITION.match(module))
    assert violations(core, lambda name: not within(name, "adapters", "migrations")) == []


def test_only_the_composition_sees_the_settings() -> None:
    core = [m for m in modules() if not COMPOSITION.match(m) and m != "bot.settings"]
    assert violations(iter(core), lambda name: name != "bot.settings") == []


def test_messages_ports_and_errors_of_the_bot_see_no_more_of_it() -> None:
    inner = iter(["bot.messages", "bot.ports", "bot.errors"])
    allowed = ("memory.types", "memory.ports", "memory.errors", "bot.messages", "bot.errors")
    assert violations(inner, lambda name: name in allowed) == []


def test_there_are_no_circles() -> None:
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " → ".join([*path, module])
        if module in done:
            return
        for name in sorted(_at_the_top(module) - {module}):
            visit(name, (*path, module))
        done.add(module)

    for module in modules():
        visit(module, ())


def _at_the_top(module: str) -> set[str]:
    """What is imported as soon as the module is."""
    inside: set[ast.AST] = set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside.update(ast.walk(node))
    names: set[str] = set()
    for node in ast.walk(tree(module)):
        if node in inside or not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif node.module:
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            names.update(name if name in modules() else node.module for name in whole)
    return names & modules().keys()


# -- platforms -------------------------------------------------------------------------------------

PLATFORMS = re.compile(r"slack|discord", re.IGNORECASE)
MAY_NAME_PLATFORMS = re.compile(
    r"bot\.(?:settings|doctor|app\w*|cli|\w+_cli|cli_\w+|eval\w*|__main__)$"
)


READS_PEOPLES_WORDS = ("memory.redaction", "memory.analysis")
"""Modules that must know what people write, kinds of credentials among it."""


def test_the_core_names_no_platform() -> None:
    """Neither in code nor in texts for people; comments and docstrings may give examples."""
    named = []
    for module in those("memory", "bot"):
        if MAY_NAME_PLATFORMS.match(module) or within(module, *READS_PEOPLES_WORDS):
            continue
        docstrings = {
            id(node.value)
            for node in ast.walk(tree(module))
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree(module)):
            words = ""
            if isinstance(node, ast.Constant) and id(node) not in docstrings:
                words = node.value if isinstance(node.value, str) else ""
            elif isinstance(node, ast.Name):
                words = node.id
            elif isinstance(node, ast.Attribute):
                words = node.attr
            if PLATFORMS.search(words):
                named.append(f"{module}:{getattr(node, 'lineno', 0)}: {words}")
    assert named == []


# -- style that no linter knows --------------------------------------------------------------------


def test_no_module_is_called_by_nothing() -> None:
    vague = re.compile(r"(?:^|[._])(?:utils?|helpers?|managers?|misc|common)(?:$|[._])")
    assert [module for module in modules() if vague.search(module)] == []


def test_every_module_and_public_class_says_what_it_is_for() -> None:
    silent = []
    for module in modules():
        if module.startswith("migrations.versions") or not tree(module).body:
            continue
        if ast.get_docstring(tree(module)) is None:
            silent.append(module)
        silent += [
            f"{module}.{node.name}"
            for node in tree(module).body
            if isinstance(node, ast.ClassDef)
            and not node.name.startswith("_")
            and ast.get_docstring(node) is None
        ]
    assert silent == []


def test_reading_takes_what_is_readable_and_has_no_default_for_it() -> None:
    loose = []
    for module in those("memory"):
        for node in ast.walk(tree(module)):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            arguments = [*node.args.posonlyargs, *node.args.args]
            with_default = arguments[len(arguments) - len(node.args.defaults) :]
            with_default += [
                argument
                for argument, default in zip(
                    node.args.kwonlyargs, node.args.kw_defaults, strict=True
                )
                if default is not None
            ]
            loose += [f"{module}.{node.name}" for a in with_default if a.arg == "readable"]
    assert loose == []


@pytest.mark.slow
def test_importing_everything_does_nothing() -> None:
    """No file, no connection, no thread, no output, no reading of settings at import time."""
    names = [name for name in modules() if name not in {"bot.__main__", "migrations.env"}]
    code = f"""
import importlib, sys, threading
allowed = {[str(ROOT), sys.prefix, sys.base_prefix]!r}
def forbid(event, args):
    if event == "socket.connect" or event == "subprocess.Popen":
        raise SystemExit(f"{{event}} {{args}}")
    if event == "open" and isinstance(args[0], str) and "w" in str(args[1] or ""):
        if not args[0].endswith(".pyc") and "__pycache__" not in args[0]:
            raise SystemExit(f"{{event}} {{args}}")
sys.dont_write_bytecode = True
sys.addaudithook(forbid)
for name in {names!r}:
    importlib.import_module(name)
assert threading.active_count() == 1, threading.enumerate()
"""
    environment = {
        "PYTHONPATH": str(ROOT),
        "OBOETE_NO_SUCH_SETTING": "1",
        "PYTHONWARNINGS": "error,ignore::DeprecationWarning:discord.player",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

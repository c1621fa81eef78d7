"""`python -m updraft.info`: the output is correct."""

import itertools
import json
import pathlib
import platform
import re
import subprocess
import sys

import pytest

import updraft
from updraft import _updraft, info

_numbers = itertools.count(1)


def run(*arguments):
    command = [sys.executable, "-m", "updraft.info", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache with two variants of one rule and one of another."""
    monkeypatch.setenv("UPDRAFT_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("Slow", "Slow", "Other"):
        # Rules that this process has already compiled aren't written to the disk.
        text = f"rule {name}(lr = {next(_numbers)})"
        updraft.compile(text + " { update(param, grad) { next param = param - lr * grad } }")
    return tmp_path / "cache"


def test_json(cache):
    result = run("--json")
    assert (result.returncode, result.stderr) == (0, "")
    shown = json.loads(result.stdout)
    versions = shown["versions"]
    assert f"updraft {versions['updraft']} (LLVM {versions['llvm']})" == _updraft.version()
    assert shown["python"]["version"] == platform.python_version()
    assert shown["location"] == str(pathlib.Path(updraft.__file__).parent)
    assert shown["cache"]["folder"] == str(cache)
    entries = shown["cache"]["entries"]
    assert sorted(entry["rule"] for entry in entries) == ["Other", "Slow", "Slow"]
    files = {path.name.split(".")[0]: path.stat().st_size for path in cache.iterdir()}
    assert {entry["key"]: entry["bytes"] for entry in entries} == files
    assert shown["target"]["cpu"] and shown["target"]["features"]


def test_a_cache_that_is_not_used(cache):
    cache.chmod(0o777)
    why = (
        f"other users may write to `{cache}` (mode 0777); use a folder that only you can write to, "
        "or `chmod go-w` this one"
    )
    shown = json.loads(run("--json").stdout)["cache"]
    assert (shown["unused"], shown["entries"]) == (why, [])
    (line,) = (line for line in run().stdout.splitlines() if line.startswith("cache "))
    assert line == f"cache      not used: {why}"


@pytest.mark.parametrize(
    ("output", "reason"),
    [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")],
)
def test_output_that_is_lost(output, reason):
    command = ["sh", "-c", f'exec "$@" {output}', "sh", sys.executable, "-m", "updraft.info"]
    result = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=60)
    expected = f"error: cannot write the standard output: {reason}\n"
    assert (result.returncode, result.stderr) == (1, expected)


def test_text(cache):
    result = run()
    assert (result.returncode, result.stderr) == (0, "")
    lines = {line.split()[0]: line.split() for line in result.stdout.splitlines() if line}
    assert lines["cache"][1:4] == [f"{cache}:", "3", "rules,"]
    assert lines["compiled"] == ["compiled", "rule", "variants", "size", "last", "used"]
    assert lines["Slow"][1] == "2"
    assert lines["Other"][1] == "1"
    assert lines["Python"][1] == f"{platform.python_version()},"


def test_rich_shows_the_same(cache, capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert info.main([]) == 0
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "─" in shown or "━" in shown  # from rich's table
    assert info.main(["--plain"]) == 0
    plain = capsys.readouterr().out
    assert "━" not in plain
    for word in plain.split():
        assert word in shown


def test_without_rich(cache, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert info.main([]) == 0
    assert "compiled rule  variants" in capsys.readouterr().out


def test_without_a_cache(monkeypatch, capsys):
    monkeypatch.setenv("UPDRAFT_CACHE_DIR", "")
    assert info.main(["--plain"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[-1].split() == ["cache", "none"]


def test_a_cache_that_is_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("UPDRAFT_CACHE_DIR", str(tmp_path / "file"))
    (tmp_path / "file").write_text("no folder")
    assert info.main(["--plain"]) == 0
    shown = capsys.readouterr().out.splitlines()[-1]
    assert shown == f"cache      not used: `{tmp_path / 'file'}` is not a folder"


@pytest.mark.parametrize(
    ("torch", "adapters", "shown"),
    [
        ("2.15.0+cpu", ["2.15"], "2.15.0+cpu (adapter for 2.15)"),
        ("2.11.0", ["2.15"], "2.11.0 (adapter for 2.15: does not fit)"),
        ("2.11.0", [], "2.11.0 (built without an adapter: does not fit)"),
        (None, ["2.11", "2.15"], "not installed (adapter for 2.11, 2.15)"),
    ],
)
def test_torch_and_its_adapter(torch, adapters, shown):
    assert info._torch({"packages": {"torch": torch}, "adapters": adapters}) == shown


def test_size():
    sizes = [info._size(count) for count in (0, 1023, 1024, 1536, 1 << 20, 3 << 30)]
    assert sizes == ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "1.0 MiB", "3072.0 MiB"]


def test_help_and_unknown_options():
    result = run("--help")
    assert result.returncode == 0
    for text in ("usage: python -m updraft.info", "--json", "exit code: 0 shown"):
        assert text in result.stdout
    assert run("--no-such").returncode == 2


def test_torch_is_not_imported(run_python):
    program = "import sys; from updraft import info; info.collect(); print('torch' in sys.modules)"
    assert run_python(program) == "False"

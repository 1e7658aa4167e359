"""What cannot be used says so in one line and stops nothing else."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sglang_lines import decode, prefill, start

from speclog.cli import cli


def run(tmp_path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["--store", str(tmp_path / "s.duckdb"), "ingest", *arguments])


def good(tmp_path: Path) -> str:
    path = tmp_path / "good.log"
    path.write_text("\n".join([start(), prefill(1), decode(2), decode(3)]) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("empty.log", b"", "empty file"),
        ("binary.log", b"\x7fELF\0\0\x01" + bytes(range(256)) * 64, "binary file"),
        ("other.log", b"hello\nworld\n", "no line of SGLang or vLLM in it"),
        (
            "llama.log",
            b"main: server is listening on http://127.0.0.1:8080\n",
            "no line of SGLang or vLLM in it",
        ),
    ],
)
def test_unusable_file(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(content)
    result = run(tmp_path, str(tmp_path / name), good(tmp_path))
    assert result.exit_code == 3
    assert reason in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "good.log: ingested" in result.stdout
    assert "Traceback" not in result.output


def test_missing_file_and_empty_directory(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    result = run(tmp_path, str(tmp_path / "missing.log"), str(tmp_path / "none"), good(tmp_path))
    assert result.exit_code == 3
    assert [line.split(": ", 1)[1] for line in result.stderr.splitlines()] == [
        "unusable: no such file",
        "unusable: a directory without logs (*.log, *.log.gz, *.log.zst, *.out, *.out.gz, *.out.zst, "
        "*.err, *.err.gz, *.err.zst)",
    ]
    assert "good.log: ingested" in result.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "secret.log"
    path.write_text("x")
    path.chmod(0)
    assert "Permission denied" in run(tmp_path, str(path)).stderr


def test_truncated_gzip(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "cut.log.gz"
    path.write_bytes(gzip.compress(Path(good(tmp_path)).read_bytes() * 50)[:-20])
    result = run(tmp_path, str(path))
    assert result.exit_code == 3
    assert "ends too early" in result.stderr


def test_truncated_last_line_is_no_window(tmp_path: Path) -> None:
    path = tmp_path / "cut.log"
    whole = "\n".join([start(), decode(1), decode(2, tok_s=4321.0)])
    path.write_text(whole[: whole.rindex("4321.00") + 2])
    result = run(tmp_path, str(path))
    assert result.exit_code == 0
    assert "1 decode windows" in result.stdout


def test_never_served(tmp_path: Path) -> None:
    path = tmp_path / "boot.log"
    path.write_text(start() + "\n")
    result = run(tmp_path, str(path))
    assert result.exit_code == 0
    assert "never served" in result.stdout


def test_hostile_text_does_not_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "evil.log"
    path.write_bytes((start() + "\n\x1b]0;owned\x07 \u202egnp.exe\n" + decode(1) + "\n").encode())
    result = run(tmp_path, "--verbose", str(path))
    assert "\x1b" not in result.output
    assert "\u202e" not in result.output


def test_json_is_an_array(tmp_path: Path) -> None:
    import json

    result = run(tmp_path, "--json", good(tmp_path), str(tmp_path / "missing.log"))
    found = json.loads(result.stdout)
    assert [(s["status"], s["windows"]) for s in found] == [("ingested", 2), ("unusable", 0)]

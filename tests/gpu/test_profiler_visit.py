"""What the GPU visit computes, on logs of an earlier one."""

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from .profiler_visit import MIX, ORDER, SERVERS, costs, phases


def test_phases_and_cycles_of_a_real_log(shared):
    """Forward and gap make the cycle, and the cycle is the round time of the plain lines at equal context."""
    found = phases(shared / "logs" / "h200-llama8b" / "profiled-base.log")
    assert found["worst_sum_error_percent"] < 0.5
    assert found["windows"] > 10
    assert found["decode_lines"] > 10
    assert abs(found["cycle_against_log_percent"]) < 1.0


def test_phases_of_a_speculative_log(shared):
    """Five phases and the gap make the cycle (that build took phases and cycle from different rounds)."""
    found = phases(shared / "logs" / "h200-llama8b" / "profiled-eagle3-s5-a2.1.log")
    assert found["median_sum_error_percent"] < 0.5
    assert found["decode_lines"] > 10


def test_the_cost_is_a_ratio_within_a_quad():
    """Machines drift between quads, so each quad is its own comparison; half a quad is none."""
    blocks = [
        {"quad": quad, "kind": "base", "arm": arm, "part": 0, "tok_s": 200 * (0.99 if arm == "on" else 1)}
        for quad in (0, 1, 2)
        for arm in ORDER
    ]
    found = costs(blocks[:-1])
    key = f"base at_once={MIX[0][0]} prompt={MIX[0][1]}"
    assert found[key]["percent"] == [pytest.approx(-1.0), pytest.approx(-1.0)]


STUB = """
import json, sys, http.server

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.do_GET()
        tokens = asked["sampling_params"]["max_new_tokens"]
        self.wfile.write(json.dumps({"meta_info": {"completion_tokens": tokens}}).encode())

    def log_message(self, *what):
        pass

port = int(sys.argv[sys.argv.index("--port") + 1])
print("arguments", *sys.argv[1:], flush=True)
http.server.ThreadingHTTPServer(("127.0.0.1", port), Answer).serve_forever()
"""


@pytest.mark.slow
def test_a_whole_visit_with_a_stub_for_the_kit(tmp_path):
    """Unpack a kit in two parts, start four servers, alternate, switch the trial, stop all, sum up."""
    package = tmp_path / "site" / "sglang"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "launch_server.py").write_text(STUB)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        archive.add(tmp_path / "site", "site")
    kit = tmp_path / "kit"
    kit.mkdir()
    half = len(packed.getvalue()) // 2
    (kit / "part.00").write_bytes(packed.getvalue()[:half])
    (kit / "part.01").write_bytes(packed.getvalue()[half:])
    out = tmp_path / "out"
    script = Path(__file__).parent / "profiler_visit.py"
    done = subprocess.run(
        [sys.executable, script, "--kit", kit, "--out", out, "--work", tmp_path / "work", "--seconds", "110"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    blocks = [json.loads(line) for line in (out / "blocks.jsonl").read_text().splitlines()]
    assert len(blocks) == 4 * 2 * len(ORDER) * len(MIX)
    assert [b["arm"] for b in blocks if b["part"] == 0 and b["kind"] == "base"][:4] == list(ORDER)
    summary = json.loads((out / "summary.json").read_text())
    assert {len(cost["percent"]) for cost in summary["cost"].values()} == {4}
    for name in SERVERS:
        text = (out / f"{name}.log").read_text()
        assert ("--speculative-algorithm EAGLE3" in text) == name.startswith("eagle3")
    assert (tmp_path / "work" / "eagle3-on.control").read_text() == "on"

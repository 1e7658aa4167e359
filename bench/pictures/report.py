"""The example page (reports/example.html) and its picture, from the story's logs. Needs Chromium for the picture.

python -m bench.pictures.report
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from speclog.ingest.api import ingest_paths
from speclog.report import report_text

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "reports" / "example.html"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        store = str(Path(scratch) / "speclog.duckdb")
        ingest_paths(
            sorted((ROOT / "examples" / "logs" / "kimi-k25-story").glob("*.log")), store_target=store
        )
        text = report_text(
            store,
            vs="baseline-retuned",
            candidates=["eagle3-5x6-untuned"],
            command="speclog report --vs baseline-retuned --run eagle3-5x6-untuned",
        )
        # Where the example was made is nobody's business, and would change the page each time.
        PAGE.write_text(text.replace(store, "speclog.duckdb").replace(f"{ROOT}/", ""), encoding="utf-8")
        print(PAGE)
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        if chromium is None:
            print("no Chromium: the picture was not made")
            return
        picture = PAGE.with_suffix(".png")
        size = [
            "--window-size=1180,1000",
            "--virtual-time-budget=15000",
            f"--user-data-dir={scratch}/profile",
        ]
        subprocess.run(
            [chromium, *FLAGS, *size, f"--screenshot={picture}", PAGE.as_uri()],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        print(picture)


if __name__ == "__main__":
    main()

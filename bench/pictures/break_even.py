"""Draw docs/pictures/break-even.svg: tau_star over context with its band, accept length and margin."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import altair as alt
import polars as pl
import vl_convert as vlc

from speclog.analysis.context import tau_star_curve
from speclog.ingest.api import ingest_paths
from speclog.store import open_store

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "examples" / "logs" / "h200-llama8b"
OUT = ROOT / "docs" / "pictures" / "break-even.svg"
RUNS = {"eagle3-s5-a2.1": "5 steps", "eagle3-s2-a2.1": "2 steps"}


def curves() -> pl.DataFrame:
    """tau_star over context at batch size 1 of the example runs, against the example baseline."""
    with TemporaryDirectory() as folder:
        target = str(Path(folder) / "s.duckdb")
        ingest_paths([LOGS], store_target=target)
        with open_store(target) as store:
            frames = {
                name: store.frame("SELECT * FROM decode_window WHERE run = ?", [name])
                for name in [*RUNS, "base"]
            }
    parts = [
        tau_star_curve([frames[run]], [frames["base"]], 1).with_columns(run=pl.lit(label))
        for run, label in RUNS.items()
    ]
    return pl.concat(parts)


def chart(table: pl.DataFrame) -> alt.LayerChart:
    """The picture: bands, lines, the accept length and one margin."""
    rows = table.to_dicts()
    middle = [row for row in rows if row["run"] == "5 steps"][len(rows) // 4]
    scale = alt.Scale(domain=[1.2, 2.25])
    context = alt.X("context:Q", title="context (tokens a request)", scale=alt.Scale(zero=False))
    star = alt.Y("tau_star:Q", title="tokens per round", scale=scale)
    colour = alt.Color("run:N", title="break-even of", scale=alt.Scale(range=["#0b6e99", "#d98200"]))
    base = alt.Chart(alt.Data(values=rows)).encode(context)
    band = base.mark_area(opacity=0.25).encode(
        alt.Y("tau_star_lo:Q", scale=scale), alt.Y2("tau_star_hi:Q"), colour
    )
    line = base.mark_line(strokeWidth=2).encode(star, colour)
    tau = base.mark_line(color="#333", strokeDash=[6, 3]).encode(y="tau:Q")
    gain = f"margin {middle['tau'] - middle['tau_star']:.2f} tokens, S = {middle['speedup']:.2f}"
    words = [middle | {"text": gain, "at": (middle["tau"] + middle["tau_star"]) / 2}]
    words_at = alt.Chart(alt.Data(values=words)).encode(context)
    margin = words_at.mark_rule(color="#333").encode(y="tau_star:Q", y2="tau:Q")
    label = words_at.mark_text(align="left", dx=6).encode(y="at:Q", text="text:N")
    top = [middle | {"text": "accept length (of both)"}]
    named = alt.Chart(alt.Data(values=top)).encode(context)
    accept = named.mark_text(align="left", dy=-8).encode(y="tau:Q", text="text:N")
    return alt.layer(band, line, tau, margin, label, accept).properties(
        width=560,
        height=300,
        title="Break-even accept length over context (H200, Llama-8B shape, one request)",
    )


def main() -> None:
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(vlc.vegalite_to_svg(chart(curves()).to_json()), encoding="utf-8")
    print(OUT.relative_to(ROOT))


if __name__ == "__main__":
    main()

"""The drawing code a page carries: one bundle of Vega, Vega-Lite and vega-embed, made once and kept."""

from __future__ import annotations

from speclog.report import cached

_SNIPPET = "window.vegaEmbed=vegaEmbed;"


def bundle() -> str:
    """The JavaScript that draws charts, without any reference to a network.

    vl-convert needs seconds to put it together, so it is kept under ``$XDG_CACHE_HOME/speclog``, one a
    version of vl-convert.
    """
    from importlib.metadata import version

    made_by = version("vl-convert-python")
    name = f"vega-{made_by}.js"
    kept = cached.read(name)
    if kept is not None and kept.endswith(_end(made_by)):
        return kept
    import vl_convert

    text = vl_convert.javascript_bundle(_SNIPPET).replace("</script", "<\\/script") + _end(made_by)
    cached.keep(name, text)
    return text


def _end(version: str) -> str:
    # The last bytes: a file cut short by a full disk is not taken for whole.
    return f"\n/* vl-convert {version} */\n"

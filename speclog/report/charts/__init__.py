"""The charts of a report: each module turns rows into one Vega-Lite spec titled with its answer.

Specs name their data (`NamedData`) and their colours (``var(--candidate)``): the page fills both in, so that
data is embedded once and a theme is one CSS file.
"""

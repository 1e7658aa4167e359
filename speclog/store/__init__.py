"""The store: one DuckDB file, or a DuckLake shared by a fleet. The only package that knows the engine."""

from speclog.store.handle import Store, is_busy, open_store
from speclog.store.problems import first_line
from speclog.store.rows import Rows
from speclog.store.schema import SCHEMA_VERSION, schema_files

__all__ = ["SCHEMA_VERSION", "Rows", "Store", "first_line", "is_busy", "open_store", "schema_files"]

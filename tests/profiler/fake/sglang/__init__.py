"""A stand-in for SGLang: its process model and its workers' shapes, on a clock that tests can predict."""

__version__ = "0.0.fake"

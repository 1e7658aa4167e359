"""A stand-in for torch with one CUDA stream on virtual time. Reading an event too early is an error, so is
recording one while a graph is being captured; waiting for the device is counted."""

from . import cuda, distributed  # noqa: F401

STAND_IN = True

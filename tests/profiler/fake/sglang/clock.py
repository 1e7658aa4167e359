"""Virtual time: `time.perf_counter` of this process moves only by `host_ms` and by waiting for the device.

With the stand-in torch on the path the phases are device work (the host runs ahead), otherwise host time.
"""

import time

now_s = 1000.0
device_s = 0.0
capturing = False


def perf_counter():
    return now_s


def host_ms(ms):
    global now_s
    now_s += ms / 1e3


def device_ms(ms):
    global device_s
    device_s = max(device_s, now_s) + ms / 1e3


def wait(until_s=None):
    global now_s
    now_s = max(now_s, device_s if until_s is None else until_s)


try:
    import torch

    HAS_DEVICE = hasattr(torch, "STAND_IN")
except ImportError:
    HAS_DEVICE = False
work_ms = device_ms if HAS_DEVICE else host_ms
time.perf_counter = perf_counter

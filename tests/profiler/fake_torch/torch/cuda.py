import atexit
import os

created = 0
waits = 0


def is_available():
    return True


def is_current_stream_capturing():
    from sglang import clock

    return clock.capturing


def synchronize():
    global waits
    from sglang import clock

    waits += 1
    clock.wait()


class Event:
    def __init__(self, enable_timing=False):
        global created
        assert enable_timing
        created += 1
        self.at = None

    def record(self):
        from sglang import clock

        assert not clock.capturing, "recording an event spoils the capture"
        self.at = max(clock.device_s, clock.now_s)

    def query(self):
        from sglang import clock

        return clock.now_s >= self.at

    def elapsed_time(self, later):
        if not (self.query() and later.query()):
            raise RuntimeError("device not ready")
        return (later.at - self.at) * 1e3


if os.environ.get("FAKE_SHAPE"):
    atexit.register(lambda: created and print(f"EVENTS created={created} waits={waits}", flush=True))

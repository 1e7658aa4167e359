"""SGLang's plugin loader (0.5.11 and later): entry points by group, `SGLANG_PLUGINS` lists those allowed."""

import importlib.metadata
import os

loaded = False


def load_plugins():
    global loaded
    if loaded or os.environ.get("FAKE_NO_PLUGINS"):
        return
    loaded = True
    allowed = os.environ.get("SGLANG_PLUGINS")
    for point in importlib.metadata.entry_points(group="sglang.srt.plugins"):
        if allowed is None or point.name in allowed.split(","):
            try:
                point.load()()
            except Exception as error:  # as the real one: logged, and the server goes on
                print(f"Failed to load plugin {point.name}: {error}", flush=True)

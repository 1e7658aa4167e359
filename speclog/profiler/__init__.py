"""The EAGLE3_PROFILE plugin that runs inside SGLang: standard library and torch only, nothing of the rest of speclog."""

"""The EAGLE3_PROFILE plugin that runs inside SGLang: stdlib and torch only, nothing else of speclog."""

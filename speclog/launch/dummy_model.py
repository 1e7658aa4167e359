"""Model directories without weights, for ``load_format = "dummy"``: a target and an EAGLE-3 draft of a shape.

SGLang fills the weights with noise, so the text means nothing and drafts are never accepted: use
``SGLANG_SIMULATE_ACC_LEN``. What remains real is the time of a round, which depends on the shape only.
"""

import json
import os
import tomllib
from pathlib import Path
from typing import Any

from speclog import whole

_TEMPLATE = "{% for m in messages %}{{ m['content'] }}{% endfor %}"


def shapes() -> dict[str, dict[str, int]]:
    """The declared shapes (dummy_shapes.toml) by name."""
    return tomllib.loads(Path(__file__).with_name("dummy_shapes.toml").read_text(encoding="utf-8"))


def home() -> Path:
    """Where dummy models are kept: ``$XDG_CACHE_HOME/speclog/models``."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "speclog" / "models"


def make(shape: str, folder: Path | None = None) -> tuple[Path, Path]:
    """Write the target and draft directories of a shape (kept if they are there); return both paths."""
    base = folder or home() / shape
    target = _config(shapes()[shape])
    for name, config in (("target", target), ("draft", _draft(target, shapes()[shape]))):
        _write(base / name / "tokenizer.json", _tokenizer())
        _write(base / name / "tokenizer_config.json", _tokenizer_config(config["max_position_embeddings"]))
        _write(base / name / "config.json", config)
    return base / "target", base / "draft"


def _config(shape: dict[str, int]) -> dict[str, Any]:
    sizes = {name: size for name, size in shape.items() if name != "draft_vocab_size"}
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "head_dim": shape["hidden_size"] // shape["num_attention_heads"],
        "hidden_act": "silu",
        "max_position_embeddings": 8192,
        "rms_norm_eps": 1e-5,
        "rope_theta": 500000.0,
        "initializer_range": 0.02,
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": False,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "torch_dtype": "bfloat16",
    } | sizes


def _draft(target: dict[str, Any], shape: dict[str, int]) -> dict[str, Any]:
    draft = target | {
        "architectures": ["LlamaForCausalLMEagle3"],
        "num_hidden_layers": 1,
        "draft_vocab_size": shape["draft_vocab_size"],
        "target_hidden_size": shape["hidden_size"],
        "target_model_type": "llama",
    }
    if shape["num_hidden_layers"] < 7:  # SGLang's own choice of three layers needs seven
        draft["eagle_config"] = {"eagle_aux_hidden_state_layer_ids": [0, 1, 2], "use_aux_hidden_state": True}
    return draft


def _tokenizer() -> dict[str, Any]:
    """A byte-level tokenizer without merges: two special tokens and one token a byte."""
    special = ["<s>", "</s>"]
    added = [
        {"id": i, "content": text, "special": True}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        for i, text in enumerate(special)
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": _byte_level(),
        "post_processor": None,
        "decoder": _byte_level(),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {token: i for i, token in enumerate((*special, *_byte_alphabet()))},
            "merges": [],
        },
    }


def _byte_level() -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def _byte_alphabet() -> list[str]:
    """The printable stand-ins of the 256 bytes in byte-level tokenizers; printable bytes are their own."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


def _tokenizer_config(longest: int) -> dict[str, Any]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "model_max_length": longest,
        "chat_template": _TEMPLATE,
    }


def _write(path: Path, content: dict[str, Any]) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False)
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    whole.write(path, text)

"""Small logs in SGLang's shapes, written for the tests."""

ARGS = (
    "server_args=ServerArgs(model_path='m', tp_size=1, disable_cuda_graph=False, speculative_algorithm=None)"
)


def decode(second: int, *, rank: str = "", req: int = 1, token: int = 200, tok_s: float = 100.0) -> str:
    """A decode line of SGLang 0.5.14."""
    return (
        f"[2026-01-29 01:16:{second:02d}{rank}] Decode batch, #running-req: {req}, #token: {token}, "
        f"token usage: 0.01, cuda graph: True, gen throughput (token/s): {tok_s:.2f}, #queue-req: 0"
    )


def prefill(second: int, *, rank: str = "", new: int = 64, cached: int = 0) -> str:
    """A prefill line of SGLang 0.5.14."""
    return (
        f"[2026-01-29 01:16:{second:02d}{rank}] Prefill batch, #new-seq: 1, #new-token: {new}, "
        f"#cached-token: {cached}, token usage: 0.00, #running-req: 0, #queue-req: 0, #pending-token: 0, "
        "cuda graph: False, input throughput (token/s): 5.00"
    )


def start(second: int = 0, args: str = ARGS) -> str:
    """A server_args line."""
    return f"[2026-01-29 01:16:{second:02d}] {args}"

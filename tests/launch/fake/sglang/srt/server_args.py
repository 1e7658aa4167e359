"""The few server arguments the stand-in takes, refused as SGLang's own parser refuses the others."""

OPTIONS = {
    "--model-path": str,
    "--load-format": str,
    "--host": str,
    "--port": int,
    "--tp-size": int,
    "--random-seed": int,
    "--decode-log-interval": int,
    "--speculative-algorithm": str,
    "--speculative-draft-model-path": str,
    "--speculative-num-steps": int,
    "--speculative-eagle-topk": int,
    "--speculative-num-draft-tokens": int,
    "--mem-fraction-static": float,
    "--api-key": str,
    "--device": str,
    "--attention-backend": str,
    "--sampling-backend": str,
    "--grammar-backend": str,
    "--cuda-graph-max-bs": int,
}
FLAGS = (
    "--disable-radix-cache",
    "--skip-server-warmup",
    "--trust-remote-code",
    "--disable-custom-all-reduce",
)
FLAGS += ("--disable-piecewise-cuda-graph",)


class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        for option, kind in OPTIONS.items():
            parser.add_argument(option, type=kind)
        for flag in FLAGS:
            parser.add_argument(flag, action="store_true")

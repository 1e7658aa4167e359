import json
import tomllib

import pytest

from speclog.launch import environment
from speclog.launch.environment import REDACTED


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HF_TOKEN", "hf_abcdefghijklmnopqrst"),
        ("SGLANG_API_KEY", "plain"),
        ("HF_HUB_SECRET", "x"),
        ("NCCL_PASSWORD", "x"),
        ("SGLANG_ADMIN_KEY", "12345678901234567890"),
        ("SGLANG_NOTE", "see hf_abcdefghijklmnopqrst please"),
        ("SGLANG_URL", "https://me:hunter2@host/x"),
        ("SGLANG_HEADER", "Bearer abcdefghijk"),
        ("SGLANG_X", "sk-abcdefghijklmnopqrstuvw"),
    ],
)
def test_a_secret_is_never_recorded_but_its_presence_is(name, value):
    recorded = environment.recorded({name: value})
    assert name in recorded
    assert REDACTED in recorded[name]
    for word in ("hf_abc", "hunter2", "plain", "12345678901", "sk-abc", "abcdefghijk"):
        assert word not in json.dumps(recorded)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION", "4096"),
        ("SGLANG_SIMULATE_ACC_TOKEN_MODE", "real-draft-token"),
        ("SGLANG_LOG_DECODE_GRAPH_KEY", "1"),
        ("SGLANG_BATCH_TOKENIZER_OUTPUTS", "true"),
        ("NCCL_PROTO", "LL"),
        ("TOKENIZERS_PARALLELISM", "false"),
    ],
)
def test_what_sglang_means_by_token_and_key_is_recorded(name, value):
    assert environment.recorded({name: value}) == {name: value}


def test_what_the_catalogue_calls_noise_does_not_stop_a_campaign_from_going_on():
    """A cache directory of each job, say; the catalogue of factors is not the launcher's to import."""
    from speclog.analysis import factors

    catalogue = tomllib.loads(factors.SHIPPED.read_text(encoding="utf-8"))["factor"]
    weak = [one for one in catalogue if one["class"] == "noise" or one.get("effect") == "caveat"]
    names = {
        key.removeprefix("env.").rstrip("*") for one in weak for key in one["keys"] if key.startswith("env.")
    }
    harmless = tuple(environment.rules()["harmless"])
    assert {name for name in names if not name.startswith(harmless)} == {"EAGLE3_"}  # the profiler's switch
    heavy = {
        "NCCL_PROTO",
        "CUDA_VISIBLE_DEVICES",
        "OMP_NUM_THREADS",
        "SGLANG_ENABLE_SPEC_V2",
        "NCCL_BUFFSIZE",
    }
    assert not any(name.startswith(harmless) for name in heavy)


def test_only_allow_listed_variables_are_recorded():
    assert environment.recorded({"HOME": "/h", "AWS_SECRET_ACCESS_KEY": "x", "NCCL_ALGO": "Ring"}) == {
        "NCCL_ALGO": "Ring"
    }


def test_the_name_of_a_topology_file_is_not_its_content(tmp_path):
    graph = tmp_path / "graph.xml"
    graph.write_text("a")
    first = environment.recorded({"NCCL_GRAPH_FILE": str(graph)})
    graph.write_text("b")
    second = environment.recorded({"NCCL_GRAPH_FILE": str(graph)})
    assert first["NCCL_GRAPH_FILE"] == second["NCCL_GRAPH_FILE"]
    assert first["NCCL_GRAPH_FILE.sha256"] != second["NCCL_GRAPH_FILE.sha256"]
    assert environment.recorded({"NCCL_TOPO_FILE": "/none"})["NCCL_TOPO_FILE.sha256"] == "unreadable"


def test_secrets_in_the_command_line():
    argv = [
        "python",
        "--api-key",
        "open-sesame",
        "--admin-api-key=letmein",
        "--ssl-keyfile-password",
        "pw",
        "--tp-size",
        "8",
    ]
    argv += ["--max-total-tokens", "4096", "--x", "hf_abcdefghijklmnopqrst"]
    shown = environment.scrub_argv(argv)
    assert shown[2] == REDACTED and shown[3] == f"--admin-api-key={REDACTED}" and shown[5] == REDACTED
    assert shown[6:10] == ["--tp-size", "8", "--max-total-tokens", "4096"]
    assert shown[-1] == REDACTED


def test_secrets_in_what_the_server_tells_of_itself():
    told = {
        "api_key": "x",
        "max_total_tokens": 1,
        "nested": [{"admin_api_key": "y", "ssl_keyfile_password": None}],
    }
    assert environment.scrub_json(told) == {
        "api_key": REDACTED,
        "max_total_tokens": 1,
        "nested": [{"admin_api_key": REDACTED, "ssl_keyfile_password": None}],
    }


def test_composition():
    assert environment.compose({"A": "1", "B": "2"}, {"B": "3"}, ["A"]) == {"B": "3"}


def test_variables_of_the_shell_that_no_profile_sets():
    shell = {"NCCL_ALGO": "Tree", "NCCL_PROTO": "LL", "HOME": "/h"}
    assert environment.foreign(shell, ["NCCL_PROTO"]) == {"NCCL_ALGO": "Tree"}

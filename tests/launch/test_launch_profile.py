import subprocess

import pytest

from speclog.errors import InputError, SpeclogError, UsageError
from speclog.launch import resolve, script, server_args
from speclog.launch.profile import load
from speclog.launch.source import available, find, read

BASE = '[server]\nmodel_path = "/m"\n'


@pytest.mark.parametrize("name", available())
def test_shipped_profiles_load(name):
    assert load(name).about


@pytest.mark.parametrize("name", available("overlay"))
def test_shipped_overlays_lie_over_a_profile(name):
    assert load("llama8b-baseline", [name]).overlays == (name,)


def test_the_tuned_baseline_differs_from_the_untuned_one_by_the_six_variables():
    plain, tuned = load("kimi-k25-tp8-baseline"), load("kimi-k25-tp8-baseline", ["nccl-pcie-ll"])
    assert plain.env == {}
    assert tuned.env == {
        "NCCL_PROTO": "LL",
        "NCCL_ALGO": "Ring",
        "NCCL_P2P_LEVEL": "SYS",
        "NCCL_MAX_NCHANNELS": "16",
        "NCCL_BUFFSIZE": "16777216",
        "NCCL_NTHREADS": "512",
    }
    assert tuned.server == plain.server


@pytest.mark.parametrize("model", ["kimi-k25-tp8", "llama8b", "tiny-cpu"])
def test_the_arms_of_a_pair_differ_in_speculation_only(model):
    plain = load(f"{model}-baseline")
    for name in [n for n in available() if n.startswith(f"{model}-eagle3")]:
        spec = load(name)
        changed = {
            k for k in spec.server.keys() | plain.server.keys() if spec.server.get(k) != plain.server.get(k)
        }
        assert changed and all(k.startswith("speculative_") for k in changed)
        assert (spec.env, spec.workload, spec.options) == (plain.env, plain.workload, plain.options)
        assert spec.speculative and not plain.speculative


def test_steps_and_draft_tokens_are_what_the_names_say():
    for model in ("kimi-k25-tp8", "llama8b"):
        for steps, tokens in ((5, 6), (2, 3)):
            server = load(f"{model}-eagle3-{steps}x{tokens}").server
            assert (server["speculative_num_steps"], server["speculative_num_draft_tokens"]) == (
                steps,
                tokens,
            )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BASE + "tp_sise = 8\n", "p.toml:3: no server argument 'tp_sise'; did you mean 'tp_size'?"),
        (BASE + 'tp_size = "8"\n', "p.toml:3: tp_size must be a whole number, not '8'"),
        (BASE + "disable_radix_cache = 1\n", "p.toml:3: disable_radix_cache must be true or false, not 1"),
        (BASE + "tp_size = true\n", "tp_size must be a whole number, not True"),
        (BASE + "cuda_graph_bs = 8\n", "cuda_graph_bs must be a list, not 8"),
        (BASE + "[serve]\n", "p.toml:3: unknown table 'serve'; did you mean 'server'?"),
        (
            BASE + "[workload]\nimput_len = 1\n",
            "p.toml:4: unknown key 'imput_len'; did you mean 'input_len'",
        ),
        (BASE + "[workload]\ninput_len = 0\n", "p.toml:4: input_len must be at least 1, not 0"),
        (BASE + "[workload]\nbatch_sizes = 8\n", "batch_sizes must be a list of whole numbers, not 8"),
        (BASE + "[workload]\nbatch_sizes = [1, 0]\n", "batch_sizes must be at least 1"),
        (BASE + '[workload]\nflush_cache = "yes"\n', "flush_cache must be true or false, not 'yes'"),
        (BASE + "[models]\ndummy = 'huge'\n", "dummy must be one of nano, tiny, 8b, not 'huge'"),
        (BASE + "[env]\nA = true\n", "p.toml:4: A must be text or a number, as the program reads it"),
        (BASE + "[env]\n'A=B' = 'x'\n", "no environment can hold a variable called 'A=B'"),
        (BASE + '[env]\nA = "a\\u0000b"\n', "p.toml:4: A holds a NUL character"),
        (BASE + 'served_model_name = "a\\u0000b"\n', "p.toml:3: served_model_name holds a NUL character"),
        (BASE + "[unset]\nenv = 'A'\n", "p.toml:4: [unset] holds lists"),
        (BASE + "[evidence]\ngpus = 'x'\n", "p.toml:4: unknown key 'gpus'; did you mean 'gpu'?"),
        ("env = 3\n", "p.toml:1: env must be a table: [env]"),
        ("abuot = 'x'\n" + BASE, "p.toml:1: unknown key 'abuot'"),
        ("extends = 3\n", "extends must name one profile"),
        ("[server]\ntp_size = 2\n", "no model: set model_path"),
    ],
)
def test_a_wrong_profile_says_file_line_and_mend(profile_file, text, says):
    with pytest.raises(UsageError) as error:
        load(profile_file(text))
    assert says in str(error.value)


def test_what_is_not_toml_is_an_input_error(profile_file, tmp_path):
    with pytest.raises(InputError, match=r"p\.toml: not TOML"):
        load(profile_file("= 3"))
    with pytest.raises(InputError, match=r"none\.toml: cannot be read: No such file"):
        load(str(tmp_path / "none.toml"))
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        load(str(tmp_path / "b.toml"))


def test_a_profile_that_extends_itself(profile_file):
    profile_file('extends = "a"\n', "b")
    with pytest.raises(UsageError, match="extends itself"):
        load(profile_file('extends = "b"\n', "a"))


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'llama8b-baseline'"):
        load("llama8b-basline")
    with pytest.raises(UsageError, match="no overlay 'nccl-pcie'; did you mean 'nccl-pcie-ll'"):
        load("llama8b-baseline", ["nccl-pcie"])


def test_later_layers_win_and_unset_removes(profile_file):
    profile_file(BASE + "tp_size = 2\nrandom_seed = 1\n[env]\nA = 1\nB = 2\n", "base")
    path = profile_file(
        'extends = "base"\n[server]\ntp_size = 4\n[env]\nB = 3\n'
        '[unset]\nenv = ["A"]\nserver = ["random_seed"]\n'
    )
    profile = load(path, (), ["tp_size=8", "C=x", "workload.batch_sizes=1,4", "env.d=1"])
    assert profile.server == {"model_path": "/m", "tp_size": 8}
    assert profile.env == {"B": "3", "C": "x", "d": "1"}
    assert profile.unset_env == ("A",)
    assert profile.workload.batch_sizes == [1, 4]
    assert load(path, (), ["A=9"]).unset_env == ()
    assert load(path, (), ["B=unset"]).unset_env == ("A", "B")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("tp_size", "write it as name=value"),
        ("tp_size=x", "tp_size must be a whole number, not 'x'"),
        ("tp_sise=2", "no server argument 'tp_sise'; did you mean 'tp_size'?"),
        ("sever.tp_size=2", "no table 'sever'; did you mean 'server'?"),
        ("workload.x=2", "unknown key 'x'"),
        ("workload.waves=0", "waves must be at least 1"),
        ("launch.repeat=two", "repeat must be a whole number"),
        ("env.=x", "no environment can hold a variable called ''"),
        ("NCCL_X=hf_abcdefghijklmnopqrst", "a secret on the command line"),
        ("SGLANG_HOST_KEY=abc", "a secret on the command line"),
        ("models.target=https://me:hunter2@host/m", "a secret on the command line"),
    ],
)
def test_a_wrong_change_says_why(change, says):
    with pytest.raises(SpeclogError) as error:
        load("llama8b-baseline", (), [change])
    assert says in str(error.value)


def test_a_secret_in_a_change_is_not_repeated_and_counts_are_no_secrets():
    for change in ("NCCL_X=hf_abcdefghijklmnopqrst", "models.target=https://me:hunter2@host/m"):
        with pytest.raises(UsageError) as error:
            load("llama8b-baseline", (), [change])
        assert change.partition("=")[2] not in str(error.value)
    assert load("llama8b-baseline", (), ["SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION=4096"]).env
    assert load("llama8b-baseline", (), ["HF_TOKEN={env:MY_TOKEN}"]).env["HF_TOKEN"] == "{env:MY_TOKEN}"


def test_a_variable_of_the_shell_in_the_environment(monkeypatch):
    """What the message about secrets advises must work: the server gets the value, not the words."""
    profile = load("llama8b-baseline", (), ["HF_TOKEN={env:MY_TOKEN}", "NCCL_X=a {env:MY_TOKEN} b"])
    monkeypatch.delenv("MY_TOKEN", raising=False)
    with pytest.raises(UsageError, match="MY_TOKEN is not set in this shell"):
        resolve.variables(profile, {})
    monkeypatch.setenv("MY_TOKEN", "open sesame")
    assert resolve.variables(profile, {}) == {"HF_TOKEN": "open sesame", "NCCL_X": "a open sesame b"} | {
        name: value for name, value in profile.env.items() if name not in ("HF_TOKEN", "NCCL_X")
    }
    text = script.write(profile)
    assert "open sesame" not in text
    lines = [line for line in text.splitlines() if line.startswith(("export HF_TOKEN", "export NCCL_X"))]
    shell = "\n".join([*lines, 'printf "%s|%s" "$HF_TOKEN" "$NCCL_X"'])
    told = subprocess.run(
        ["bash", "-euc", shell], env={"MY_TOKEN": "open  $esame"}, capture_output=True, text=True, check=True
    )
    assert told.stdout == "open  $esame|a open  $esame b"


def test_names_newer_than_the_list_pass_where_the_profile_says_so(profile_file):
    text = BASE + "brand_new_flag = 1\n[launch]\ncheck_names = false\n"
    assert load(profile_file(text)).server["brand_new_flag"] == 1


def test_an_overlay_in_the_name():
    assert load("llama8b-baseline+profiling").arm == "llama8b-baseline+profiling"
    assert load("llama8b-baseline+profiling", ["profiling"]).overlays == ("profiling",)


def test_argv_of_each_kind():
    table = {"tp_size": 8, "model_path": "/m", "trust_remote_code": True, "disable_cuda_graph": False}
    table |= {"cuda_graph_bs": [1, 2], "json_model_override_args": {"a": 1}, "mem_fraction_static": 0.5}
    assert server_args.to_argv(table) == [
        *("--model-path", "/m", "--cuda-graph-bs", "1", "2", "--json-model-override-args", '{"a": 1}'),
        *("--mem-fraction-static", "0.5", "--tp-size", "8", "--trust-remote-code"),
    ]


def test_the_list_of_server_arguments_is_the_measured_one(shared):
    rows = (shared / "formats" / "server_args_fields.tsv").read_text().splitlines()[1:]
    assert {row.split("\t")[2] for row in rows} == set(server_args.known())


def test_provenance_of_a_key():
    source = read(find("nccl-pcie-ll", "overlay"))
    assert source.where("env", "NCCL_PROTO").endswith("overlays/nccl-pcie-ll.toml:4")

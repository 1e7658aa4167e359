"""What SGLang's source offers the profiler, version by version, read from wheels that are never installed.

python -m tests.profiler.contract      prints the table of docs/profiler.md
"""

import ast
import os
import re
import subprocess
import sys
import tempfile
import warnings
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from speclog.profiler import importhook, names

VERSIONS = (
    "0.4.6.post5", "0.4.10.post2", "0.5.3.post3", "0.5.6.post2", "0.5.8.post1", "0.5.11", "0.5.12.post1",
    "0.5.14", "0.5.17", "0.5.20", "0.5.23",
)  # fmt: skip
CACHE = Path(os.environ.get("SPECLOG_WHEELS", Path(tempfile.gettempdir()) / "speclog-sglang-wheels"))
HOOKS = ("cycle", "draft", "verify", "extend", "target", "result")


class NoIndex(Exception):
    """The package index cannot be reached (or does not have the wheel)."""


def wheel(version):
    """The wheel of one version, downloaded once without its dependencies."""
    found = sorted(CACHE.glob(f"sglang-{version}-*.whl"))
    if not found:
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
        command += ["--python-version", "3.12", "-d", str(CACHE), f"sglang=={version}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise NoIndex(done.stderr.strip().splitlines()[-1] if done.stderr else "pip download failed")
        found = sorted(CACHE.glob(f"sglang-{version}-*.whl"))
    return found[0]


@dataclass
class Class:
    """A class as its source has it: bases, methods, attributes of `self`, names in what these are set to."""

    name: str
    module: str
    bases: list = field(default_factory=list)
    methods: dict = field(default_factory=dict)
    attributes: set = field(default_factory=set)
    made_of: dict = field(default_factory=dict)


class Source:
    """The classes of sglang.srt, with look-ups along the bases (by name)."""

    def __init__(self, version):
        self.version = version
        self.classes = {}
        self.text = {}
        with zipfile.ZipFile(wheel(version)) as archive:
            for name in archive.namelist():
                if re.match(
                    r"sglang/srt/(server_args|(managers|speculative|model_executor|plugins)/.*)\.py$", name
                ):
                    self.text[name] = archive.read(name).decode()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in some versions' strings
            trees = {name: ast.parse(text) for name, text in self.text.items()}
        for name, tree in trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    self.classes.setdefault(node.name, read_class(node, name))

    def line(self, name):
        """A class and its bases, nearest first."""
        queue, seen = [name], []
        while queue:
            current = self.classes.get(queue.pop(0))
            if current is not None and current not in seen:
                seen.append(current)
                queue += current.bases
        return seen

    def has(self, name, attribute):
        """Whether instances have it: a method, an assignment to self, or a field of a dataclass."""
        return any(attribute in c.methods or attribute in c.attributes for c in self.line(name))

    def method(self, name, method):
        """The parameters of a method, found along the bases; None without it."""
        return next((c.methods[method] for c in self.line(name) if method in c.methods), None)

    def workers(self):
        """The speculative workers that a scheduler can be given: with an entry, and no abstract bases."""
        return sorted(
            c.name
            for c in self.classes.values()
            if c.module.startswith("sglang/srt/speculative/")
            and re.search(r"Worker(V2)?$", c.name)
            and not re.search(r"^Base|Draft|Mixin", c.name)
            and any(self.method(c.name, entry) for entry in names.ENTRY)
        )

    def inner(self, worker):
        """The class of the worker that drafts for `worker`; `worker` itself if it does that."""
        for c in self.line(worker):
            for attribute in ("_draft_worker", "draft_worker"):
                for made in c.made_of.get(attribute, []):
                    if any(self.method(made, draft) for draft in names.DRAFT):
                        return made
        return worker

    def hooks(self, worker):
        """The hooks that the profiler finds on `worker`, by its own rules."""
        inner = self.inner(worker)
        found = {
            "cycle": any(self.method(worker, name) for name in names.ENTRY),
            "draft": any(self.method(inner, name) for name in names.DRAFT),
            "verify": any(self.method(worker, name) for name in names.VERIFY),
            "extend": any(self.method(inner, name) for name in names.EXTEND),
            "target": self.verifies_through_the_target(worker),
            "result": any(self.method("Scheduler", name) for name in names.RESULT),
        }
        return [hook for hook in HOOKS if found[hook]]

    def verifies_through_the_target(self, worker):
        """Whether its own code (or a function it shares) verifies by a call on the target's worker."""
        call = r"target_worker\.forward_batch_generation\([^)]*?(is_verify=True|skip_sample=True)"
        own = [self.text[c.module] for c in self.line(worker)]
        package = self.classes[worker].module.rsplit("/", 1)[0]
        if not package.endswith("/speculative"):  # a worker in several files of its own folder
            own += [text for name, text in self.text.items() if name.startswith(package + "/")]
        if any(re.search(call, text, re.S) for text in own):
            return True
        shared = "sglang/srt/speculative/eagle_worker_common.py"
        return any("run_eagle_verify(" in text for text in own) and bool(
            re.search(call, self.text.get(shared, ""), re.S)
        )


def read_class(node, module):
    """The facts of one class."""
    made = Class(node.name, module, [base_name(base) for base in node.bases])
    for item in node.body:
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            made.methods[item.name] = [arg.arg for arg in item.args.args]
        elif isinstance(item, ast.AnnAssign):
            made.attributes.add(ast.unparse(item.target))
        elif isinstance(item, ast.Assign):
            made.attributes.update(ast.unparse(target) for target in item.targets)
    for item in ast.walk(node):
        targets = item.targets if isinstance(item, ast.Assign) else [getattr(item, "target", None)]
        for target in [t for one in targets for t in (one.elts if isinstance(one, ast.Tuple) else [one])]:
            if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
                made.attributes.add(target.attr)
                calls = [n for n in ast.walk(item) if isinstance(n, (ast.Name, ast.Attribute))]
                made.made_of.setdefault(target.attr, []).extend(map(base_name, calls))
    return made


def base_name(node):
    """The last name of a dotted or subscripted expression."""
    if isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def accepted_names(source):
    """Where results say how many drafts were accepted: names the profiler knows and the source assigns."""
    text = "".join(source.text.values())
    return [name for name in (*names.ACCEPTED, names.ACCEPT_LENS) if re.search(rf"\b{name}\b\s*[:=]", text)]


def table(sources):
    """The table of docs/profiler.md: a row a version, its workers by the hooks that are found."""
    rows = ["| SGLang | plugin loader | every hook | some hooks (missing) |", "|---|---|---|---|"]
    for source in sources:
        full, partial = [], []
        for worker in source.workers():
            missing = [hook for hook in HOOKS if hook not in source.hooks(worker)]
            (partial if missing else full).append(f"{worker} ({', '.join(missing)})" if missing else worker)
        plugins = "yes" if "sglang/srt/plugins/__init__.py" in source.text else "no"
        rows.append(f"| {source.version} | {plugins} | {', '.join(full)} | {', '.join(partial) or '-'} |")
    return "\n".join(rows)


SCHEDULER = importhook.SCHEDULER_MODULE.replace(".", "/") + ".py"

if __name__ == "__main__":
    print(table([Source(version) for version in VERSIONS]))

"""One profile from bytes to model; every problem in one run, each with its place."""

from pathlib import Path

import pytest
import yaml

from envcfg import __version__
from envcfg.common.findings import Finding
from envcfg.profile.profile_model import Profile
from envcfg.profile.read import yaml_text
from envcfg.profile.read.profile_loader import load_profile
from envcfg.profile.words import Ref

GOLDEN = Path(__file__).parent / "golden/problems.txt"
REASON = "why: w, source: s, date: 2026-05-19"


def load(text: str | bytes) -> tuple[Profile | None, list[Finding]]:
    data = text.encode() if isinstance(text, str) else text
    problems: list[Finding] = []
    profile = load_profile(data, path="x.yaml", stem="x", problems=problems)
    return profile, problems


def the_problem(text: str | bytes) -> tuple[str, str]:
    """Return place and message of the only problem."""
    _, problems = load(text)
    assert len(problems) == 1, [problem.lines() for problem in problems]
    (problem,) = problems
    key = f"{problem.subject}: " if problem.subject else ""
    return f"{problem.place.line}:{problem.place.column}", f"{key}{problem.message}"


def test_scalars_keep_their_written_text() -> None:
    values = {
        "A": "off",
        "B": "010",
        "C": "1_000",
        "D": "12:30:45",
        "E": "3.10",
        "F": "~x",
    }
    lines = "".join(f"  {k}: {{value: {v}, {REASON}}}\n" for k, v in values.items())
    profile, problems = load(f"name: x\nenv:\n{lines}")
    assert not problems
    assert profile
    read = {
        name: setting.cases[0].value for name, setting in profile.env.items() if setting
    }
    assert read == {name: (value,) for name, value in values.items()}


def test_a_list_that_may_be_empty_is_given_where_it_is() -> None:
    profile, problems = load(
        f"name: x\nvisibility: {{variable: A, clear: [], {REASON}}}\nrequest: {{closed: []}}\n"
    )
    assert not problems
    assert profile
    assert profile.visibility
    assert profile.visibility.clear == ()
    assert profile.closed == ()  # takes back what a family closes


def test_a_setting_has_all_it_can_have() -> None:
    profile, problems = load(
        f"""\
name: x
env:
  NCCL_NET:
    cases:
      - {{value: "AWS ${{A:-b}}", when: {{rocm: "<7", nodes: ">1"}}, {REASON}}}
      - {{value: null, when: {{nodes: 1}}, {REASON}}}
    otherwise: OFI
    force: true
  GONE: null
"""
    )
    assert not problems
    assert profile
    assert profile.env["GONE"] is None
    setting = profile.env["NCCL_NET"]
    assert setting
    assert setting.force
    assert setting.otherwise == ("OFI",)
    assert setting.cases[0].value == ("AWS ", Ref("A", "b"))
    assert [test.fact for test in setting.cases[0].when] == ["rocm", "nodes"]
    assert setting.cases[1].value is None
    assert setting.cases[0].reason.place.line == 5


PROBLEMS = [
    ("", "1:1", "the file is empty"),
    ("- a\n", "1:1", "expected keys and values, not a list"),
    ("name: y\n", "1:7", "name: the file is x.yaml, the name 'y'"),
    ("summary: no name\n", "1:1", "a profile needs a name"),
    ("name: x\nnam: x\n", "2:1", "unknown key 'nam'"),
    ("name: x\nnam: x\nenvcfg: '>=99.1'\n", "3:9", f"envcfg: this profile needs envcfg >=99.1, and this is {__version__}"),
    ("name: x\nenvcfg: new\n", "2:9", "envcfg: 'new' is not a version: expected numbers and dots, as in 6.2.4"),
    ("name: x\ndetect: {hosts: [h], why: w}\n", "2:9", "detect: no source, no date"),
    ("name: x\nname: x\n", "2:1", "key 'name' is given twice, first in line 1"),
    ("name: x\nenv: {A: {value: 1, why: w}}\n", "2:10", "env.A: no source, no date"),
    (f"name: x\nenv: {{A: {{{REASON}}}}}\n", "2:10", "env.A: no value"),
    (
        f"name: x\nenv:\n  A: {{value: a$, {REASON}}}\n",
        "3:14",
        "env.A.value: '$' stands alone (character 2 of the value)",
    ),
    (f"name: x\nenv: {{1A: {{value: 1, {REASON}}}}}\n", "2:11", "env.1A: '1A' is not a variable name"),
    (f"name: x\nenv: {{UID: {{value: 1, {REASON}}}}}\n", "2:12", "env.UID: UID belongs to the shell and cannot be set"),
    (
        f"name: x\nenv: {{A: {{value: 1, when: {{rcom: 6}}, {REASON}}}}}\n",
        "2:28",
        "env.A.when: unknown key 'rcom'",
    ),
    (
        f"name: x\nenv: {{A: {{value: 1, when: {{rocm: six}}, {REASON}}}}}\n",
        "2:34",
        "env.A.when.rocm: 'six' is not a version: expected numbers and dots, as in 6.2.4",
    ),
    ("name: x\nenv: {A: {value: 1, why: w, source: s, date: May}}\n", "2:46", "env.A.date: 'May' is not a date"),
    (f"name: x\nnode: {{gpus: many, {REASON}}}\n", "2:14", "node.gpus: expected a whole number from 0, not 'many'"),
    (f"name: x\nlaunch: {{cpu_masks: {{masks: [0xfg], {REASON}}}}}\n", "2:30", "launch.cpu_masks.masks[0]: '0xfg' is wrong: expected CPU mask, as in 0x00fe"),
    ("name: x\nlaunch: {launchers: [srum]}\n", "2:22", "launch.launchers[0]: unknown value 'srum'"),
    (
        f"name: x\nrendezvous: {{suffix: i, interface: ib0, {REASON}}}\n",
        "2:13",
        "rendezvous: suffix and interface exclude each other",
    ),
    (f"name: x\ncontainer: {{verb: {{value: exce, {REASON}}}}}\n", "2:19", "container.verb: the verb is exec or run"),
    (
        f"name: x\ncontainer: {{verb: {{value: run, when: {{nodes: 1}}, {REASON}}}}}\n",
        "2:19",
        "container.verb: the verb is chosen before the job: it cannot ask for nodes",
    ),
    ("name: x\nsummary: [a]\n", "2:10", "summary: expected a text, not a list"),
    ("name: x\nextends:\n", "2:9", "extends: expected a text, not nothing"),
    ("name: x\n\tenv: 1\n", "2:1", "found a tab character that violates indentation"),
    ("name: &a x\nsummary: *a\n", "2:10", "an alias is not allowed in a profile"),
    ("name: !!python/object:os.system x\n", "1:7", "the tag tag:yaml.org,2002:python/object:os.system is not allowed in a profile"),
    (b"name: x\nsummary: \xff\n", "2:10", "byte 0xff is not UTF-8"),
    ("name: x\nenv: {A: {}}\n", "2:10", "env.A: no value"),
    ("name: x\ncontainer: {verb: {}}\n", "2:19", "container.verb: no value"),
    (f"name: x\nenv: {{A: {{value: 1, when: {{launcher: srum}}, {REASON}}}}}\n", "2:38", "env.A.when.launcher: 'srum' fits no launcher: they are srun, flux, pbs, local, torchrun, accelerate, deepspeed, horovod, jax, lightning, mpi, transformers, ray, once, whole-node"),
    ("name: x\nenv: {A: {value: 1, why: ' ', source: s, date: 2026-05-19}}\n", "2:26", "env.A.why: the why is empty"),
    (f"name: x\nnode: {{gpus: 8, memory_per_gpu: lots, {REASON}}}\n", "2:33", "node.memory_per_gpu: 'lots' is wrong: expected memory, as in 60G"),
    (f"name: x\nlaunch: {{srun: {{mpi: {{{REASON}}}}}}}\n", "2:22", "launch.srun.mpi: 'mpi' is not an option: it begins with -"),
    (f"name: x\ncontainer: {{binds: {{data: {{{REASON}}}}}}}\n", "2:27", "container.binds.data: 'data' is not a bind: its source is an absolute path"),
    (f"name: x\ncontainer: {{binds: {{/a: {{if_exists: yes, {REASON}}}}}}}\n", "2:37", "container.binds./a.if_exists: 'yes' is neither true nor an absolute path"),
    (f"name: x\ncontainer: {{binds: {{'/a$b': {{{REASON}}}}}}}\n", "2:29", "container.binds./a$b: '/a$b' is not a bind: '$' stands alone"),
    (f"name: x\ncontainer: {{binds: {{'${{ENVCFG_X}}': {{{REASON}}}}}}}\n", "2:36", "container.binds.${ENVCFG_X}: '${ENVCFG_X}' refers to ENVCFG_X, which is envcfg's own"),
    (f"name: x\ncontainer: {{binds: {{'${{X:-a}}': {{{REASON}}}}}}}\n", "2:32", "container.binds.${X:-a}: '${X:-a}' is not a bind: its source is an absolute path"),
    (f"name: x\ncontainer: {{image_facts: [{{pattern: a, {REASON}}}]}}\n", "2:27", "container.image_facts[0]: no facts"),
    (f"name: x\ncontainer: {{image_facts: [{{pattern: 'a{{{9**20}}}', facts: {{}}, {REASON}}}]}}\n", "2:37", "container.image_facts[0].pattern: no regular expression: the repetition number is too large"),
    ("name: x\nenv:\n", "2:5", "env: expected keys and values, not nothing"),
    ("name: x\nsummary: a\0b\n", "2:11", "character '\\x00' is not allowed in YAML"),
    (f'name: x\nenv: {{"A\\n": {{value: 1, {REASON}}}}}\n', "2:14", "'env.A\\n': 'A\\n' is not a variable name"),
    (b"#" * 100_001, "1:1", "more than 100000 bytes are too many for a profile"),
    ("name: x\nenv: " + "[" * 90_000, "2:25", "nested more than 20 deep"),
    # what may stand where
    ("name: x\nenv: {? [a] : 1}\n", "2:9", "env: expected a text, not a list"),
    ("name: x\nenv: [a]\n", "2:6", "env: expected keys and values, not a list"),
    ("name: x\ndetect: {hosts: h}\n", "2:17", "detect.hosts: expected a list, not a text"),
    ("name: x\ndetect: {hosts: {a: b}}\n", "2:17", "detect.hosts: expected a list, not a mapping"),
    ('name: x\nsummary: "a\\0b"\n', "2:10", "summary: a text cannot hold a NUL character"),
    (f"name: x\nenv: {{A: {{value: 1, force: maybe, {REASON}}}}}\n", "2:28", "env.A.force: expected true or false, not 'maybe'"),
    (f"name: x\nenv: {{A: {{value: 1, directory: 1, {REASON}}}}}\n", "2:32", "env.A.directory: expected true or false, not '1'"),
    (f"name: x\nnode: {{gpus: 1000000000, {REASON}}}\n", "2:14", "node.gpus: expected a whole number from 0, not '1000000000'"),
    # variables and values
    (f"name: x\nenv: {{RANK: {{value: 1, {REASON}}}}}\n", "2:13", "env.RANK: RANK is each rank's own and cannot be set"),
    (f"name: x\nenv: {{ENVCFG_X: {{value: 1, {REASON}}}}}\n", "2:17", "env.ENVCFG_X: ENVCFG_X: ENVCFG_ is envcfg's own prefix"),
    (f"name: x\nenv: {{A: {{value: '${{B:-a b}}', {REASON}}}}}\n", "2:18", "env.A.value: the default 'a b' holds other than letters, digits and _./:@%+=,- (character 1 of the value)"),
    (f"name: x\nenv: {{A: {{value: 'x${{1}}', {REASON}}}}}\n", "2:18", "env.A.value: '1' is not a variable name (character 2 of the value)"),
    ("name: x\nenv: {A: {cases: []}}\n", "2:18", "env.A.cases: no cases"),
    (f"name: x\nenv: {{A: {{value: 1, cases: [{{value: 1, {REASON}}}]}}}}\n", "2:18", "env.A.value: 'value' belongs in each of the cases"),
    (f"name: x\nenv: {{A: {{cases: [{{{REASON}}}]}}}}\n", "2:19", "env.A.cases[0]: no value"),
    ("name: x\nenv: {A: {value: 1, why: w, date: 2026-02-30, source: s}}\n", "2:35", "env.A.date: '2026-02-30' is not a date"),
    (f"name: x\nenv: {{A: {{value: 1, when: {{nodes: many}}, {REASON}}}}}\n", "2:35", "env.A.when.nodes: 'many' is not a whole number"),
    # the container
    (f"name: x\ncontainer: {{verb: {{value: run, otherwise: x, {REASON}}}}}\n", "2:19", "container.verb: the verb is exec or run, also in otherwise"),
    (f"name: x\ncontainer: {{image_facts: [{{facts: {{rocm: '6'}}, {REASON}}}]}}\n", "2:27", "container.image_facts[0]: no pattern"),
    (f"name: x\ncontainer: {{image_facts: [{{pattern: 'a(?P<b>c)', facts: {{rocm: '{{b}}{{d}}'}}, {REASON}}}]}}\n", "2:64", "container.image_facts[0].facts.rocm: {d} is not a named group of the pattern"),
    (f"name: x\ncontainer: {{prefix: {{{REASON}}}}}\n", "2:21", "container.prefix: no words"),
    (f"name: x\ncontainer: {{prefix: {{words: [-x], {REASON}}}}}\n", "2:21", "container.prefix: '-x' is not a program"),
    (f"name: x\ncontainer: {{prefix: {{words: [a], when: {{nodes: 1}}, {REASON}}}}}\n", "2:21", "container.prefix: the prefix is chosen before the job: it cannot ask for nodes"),
    # the scheduler
    (f"name: x\nrequest: {{gpus: --gres, {REASON}}}\n", "2:10", "request: no scheduler"),
    (f"name: x\nrequest: {{scheduler: slurm, gpus: gres, {REASON}}}\n", "2:35", "request.gpus: 'gres' is wrong: expected option that counts GPUs of a node, as in --gres"),
    (f"name: x\nrequest: {{scheduler: slurm, gpus: --gpus, {REASON}}}\n", "2:35", "request.gpus: '--gpus' is wrong: expected option that counts GPUs of a node, as in --gres"),
    (f"name: x\nrequest: {{rules: {{mem: {{rule: must, {REASON}}}}}}}\n", "2:24", "request.rules.mem: 'mem' is not an option"),
    (f"name: x\nrequest: {{rules: {{--mem: {{rule: may, {REASON}}}}}}}\n", "2:33", "request.rules.--mem.rule: unknown value 'may'"),
    (f"name: x\nrequest: {{partitions: {{a: {{time: long, {REASON}}}}}}}\n", "2:34", "request.partitions.a.time: 'long' is wrong: expected time limit, as in 2-00:00:00"),
    ("name: x\nrequest: {closed: [partition]}\n", "2:20", "request.closed[0]: unknown value 'partition'"),
    (f"name: x\nrequest: {{partitions: {{a: {{sizes: [], {REASON}}}}}}}\n", "2:35", "request.partitions.a.sizes: the list is empty"),
    (f"name: x\nrequest: {{partitions: {{a: {{sizes: [{{nodes: 9}}], {REASON}}}}}}}\n", "2:36", "request.partitions.a.sizes[0]: no time"),
    (f"name: x\nrequest: {{partitions: {{a: {{nodes: 9, sizes: [{{nodes: 9, time: 9}}, {{nodes: 9, time: 10}}], {REASON}}}}}}}\n", "2:67", "request.partitions.a.sizes[1]: 9 nodes are not more than the 9 before"),
    (f"name: x\nrequest: {{partitions: {{a: {{sizes: [{{nodes: 9, time: 9}}], {REASON}}}}}}}\n", "2:27", "request.partitions.a: no nodes, but sizes end at 9: larger jobs have no limit of time"),
    (f"name: x\nrequest: {{partitions: {{a: {{nodes: 10, sizes: [{{nodes: 9, time: 9}}], {REASON}}}}}}}\n", "2:27", "request.partitions.a: nodes: 10, but sizes end at 9: larger jobs have no limit of time"),
    (f"name: x\nrequest: {{qos: {{a: {{sizes: [{{nodes: 9, time: 9}}], {REASON}}}}}}}\n", "2:20", "request.qos.a: no nodes, but sizes end at 9: larger jobs have no limit of time"),
    (f"name: x\nrequest: {{qos: {{a b: {{{REASON}}}}}}}\n", "2:22", "request.qos.a b: 'a b' is not a name of a QOS"),
    (f"name: x\nrequest: {{qos: {{a: {{partitions: [b c], {REASON}}}}}}}\n", "2:34", "request.qos.a.partitions[0]: 'b c' is wrong: expected name of a partition, as in gpu-small"),
    (f"name: x\nrequest: {{qos: {{a: {{exclusive: true, {REASON}}}}}}}\n", "2:21", "request.qos.a: unknown key 'exclusive'"),
    (f"name: x\nbilling: {{unit: u, charge: gpus, per_gpu: much, {REASON}}}\n", "2:43", "billing.per_gpu: 'much' is wrong: expected amount, as in 0.5"),
    (f"name: x\nbilling: {{unit: u, {REASON}}}\n", "2:10", "billing: no charge"),
    (f"name: x\nbundles: {{b: {{env: {{A: 1}}, {REASON}}}}}\n", "2:14", "bundles.b: a bundle couples variables with options of srun, mpiexec or flux run"),
    (f"name: x\nbundles: {{b: {{env: {{A: '${{B}}'}}, srun: [--x], {REASON}}}}}\n", "2:24", "bundles.b.env.A: a bundle's values are plain: they are compared as they are written"),
    (f"name: x\nbundles: {{b: {{env: {{1A: 1}}, srun: [--x], {REASON}}}}}\n", "2:25", "bundles.b.env.1A: '1A' is not a variable name"),
    (f"name: x\nbundles: {{b: {{env: {{A: 1}}, network: [a b], srun: [--x], {REASON}}}}}\n", "2:38", "bundles.b.network[0]: 'a b' is wrong: expected value of srun --network"),
    # lists and words
    ("name: x\nlaunch: {launchers: []}\n", "2:21", "launch.launchers: the list is empty"),
    (f"name: x\nvisibility: {{variable: A B, clear: [], {REASON}}}\n", "2:24", "visibility.variable: 'A B' is wrong: expected variable name"),
    (f"name: x\nrendezvous: {{suffix: a b, {REASON}}}\n", "2:22", "rendezvous.suffix: 'a b' is wrong: expected part of a host's name"),
    (f"name: x\nlifecycle: {{state: good, {REASON}}}\n", "2:20", "lifecycle.state: unknown value 'good'"),
    (f"name: x\nverified: {{state: tried, {REASON}}}\n", "2:19", "verified.state: unknown value 'tried'"),
    (f"name: x\nscratch: {{root: /a, disk_request: {{C: n}}, {REASON}}}\n", "2:39", "scratch.disk_request.C: 'C' is not an option"),
    (f"name: x\nscratch: {{root: /a, disk_request: {{-C: 'a b'}}, {REASON}}}\n", "2:40", "scratch.disk_request.-C: 'a b' holds what a line of a job script cannot"),
    (f"name: x\nscratch: {{in_memory: true, {REASON}}}\n", "2:10", "scratch: no root"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "message"), PROBLEMS)
def test_a_problem_names_place_key_and_reason(
    text: str | bytes, place: str, message: str
) -> None:
    assert the_problem(text) == (place, message)


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("[" * 5000, 25),
        ("{" * 5000, 25),
        ("[ " * 5000, 44),
        ("[{x: " * 1000, 52),
        (f"[{'[], ' * 1000}{'[' * 5000}", 4025),
        (f"[{'{b: [c]}, ' * 100}{'[' * 1500}", 1025),
    ],
    ids=["lists", "mappings", "blanks", "both", "after lists", "after mappings"],
)
def test_the_depth_is_counted_before_a_limit_of_the_parser(
    monkeypatch: pytest.MonkeyPatch, loader: str, text: str, column: int
) -> None:
    # libyaml 0.2.6 fails at 1,000 levels, and earlier releases have no such limit.
    monkeypatch.setattr(yaml_text, "_LOADER", getattr(yaml, loader))
    message = "nested more than 20 deep"
    assert the_problem(f"name: x\nenv: {text}") == (f"2:{column}", message)


def test_brackets_in_a_text_are_no_depth() -> None:
    for text in ('"' + "[" * 5000 + '"', "x" + "[" * 5000, "'" + "{" * 5000 + "'"):
        _, problems = load(f"name: x\nsummary: {text}\n")
        assert "deep" not in "".join(problem.message for problem in problems)


def test_problems_and_their_remedies_are_as_reviewed(
    request: pytest.FixtureRequest,
) -> None:
    said = []
    for text, _, _ in PROBLEMS:
        _, problems = load(text)
        said += [line for problem in problems for line in problem.lines()]
    found = "\n".join(said).replace(__version__, "VERSION") + "\n"
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8")


def test_all_problems_come_in_one_run() -> None:
    _, problems = load("nam: x\nenv: {A: {valu: 1}, B: 2}\nnode: {gpus: x}\n")
    assert len(problems) >= 6


def test_a_misspelling_gets_a_suggestion() -> None:
    _, (problem, *_) = load("name: x\nlaunch: {launchers: [srum]}\n")
    assert problem.fix == "did you mean 'srun'? known: flux, local, pbs, srun, torchrun"

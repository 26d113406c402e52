"""The class of each cause: in the rules, in the next step, in text and in JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
import yaml
from checking import check
from crashes import CRASHES

from envcfg.common.datafile import data_path
from envcfg.log.judge.cause_class import class_of
from envcfg.log.read.endings import ENDS
from envcfg.log.read.rulebook import CLASSES, RAISED, LogRule, load_rules
from envcfg.log.tables import load_table
from envcfg.log.verdict import Action, CauseClass
from support import envcfg

CLASSES_FILE = Path(data_path(f"log/{CLASSES}.yaml"))
DATA = yaml.safe_load(CLASSES_FILE.read_text("utf-8"))
RULES = {rule.id: rule for rule in load_rules()}
EXCEPTION = RULES["program-exception"]


def may_be_a_cause(rule: LogRule) -> bool:
    """Return whether a cause can have *rule*: an error, or an end without a severity."""
    ended = bool(rule.says) and rule.event in {*ENDS, RAISED}
    return (
        rule.severity == "error"
        or ended
        or rule.id in load_table("judge/network_ends")["interfaces"]
    )


def test_each_rule_of_a_cause_has_a_class_and_a_next_step() -> None:
    for rule in filter(may_be_a_cause, RULES.values()):
        assert rule.class_ in get_args(CauseClass), rule.id
        assert rule.consequence or rule.next in get_args(Action), rule.id


def test_the_words_of_a_line_do_not_change_the_class_that_explain_names() -> None:
    rules = [rule for rule in RULES.values() if may_be_a_cause(rule)]
    assert {
        rule.id: sample
        for rule in rules
        for sample in rule.samples
        if class_of(rule, sample) != rule.class_
    } == {}


def test_classes_are_those_of_the_reports_each_with_words_and_a_next_step() -> None:
    classes = DATA["classes"]
    assert set(classes) == set(get_args(CauseClass))
    assert set(DATA["general"]) < set(classes)
    for record in classes.values():
        assert record["says"]
        assert record["next"] in get_args(Action)
    # Only the driver's names of errors of the hardware prove that a restart helps.
    signs = {name for name, record in classes.items() if "signs" in record}
    assert {n for n in signs if classes[n]["next"] != "fix first"} == {"GPU"}


def test_each_class_is_the_class_of_a_rule() -> None:
    causes = {rule.class_ for rule in RULES.values() if may_be_a_cause(rule)}
    assert causes == {*get_args(CauseClass)}


def test_no_rule_repeats_the_next_step_of_its_class() -> None:
    for path in sorted(CLASSES_FILE.parent.glob("rules/*.yaml")):
        data = yaml.safe_load(path.read_text("utf-8"))
        for rule in data["rules"]:
            class_ = rule.get("class", data.get("class"))
            usual = DATA["classes"][class_]["next"] if class_ else ""
            assert rule.get("consequence") or rule.get("next") != usual, rule["id"]
            assert rule.get("class") != data.get("class", ""), rule["id"]


@pytest.mark.parametrize(
    ("words", "class_"),
    [
        ("ValueError: the loss is not finite", "program"),
        ("OSError: [Errno 116] Stale file handle: '/scratch/x'", "file system"),
        ("RuntimeError: The NVIDIA driver on your system is too old", "image"),
        ("x.py: error: unrecognized arguments: --lrr 1", "configuration"),
        ("json.decoder.JSONDecodeError: Expecting value: line 1", "data"),
        ("sbatch: error: Batch job submission failed: Invalid account", "scheduler"),
        ("ValueError: batch 12 has no labels", "program"),
        ("KeyError: 'driver'", "program"),
    ],
)
def test_words_make_a_general_class_more_precise(words: str, class_: str) -> None:
    assert class_of(EXCEPTION, words) == class_


def test_words_do_not_change_the_class_of_a_precise_rule() -> None:
    words = "ended: /bin/python: Permission denied"
    assert class_of(RULES["slurm-program"], words) == "image"


@pytest.mark.parametrize(
    ("name", "class_"),
    [("var-srun", "program"), ("node", "node"), ("oom", "program")],
)
def test_text_next_step_and_json_name_the_class(
    name: str, class_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.log").write_text(CRASHES[name][1])
    document = json.loads(envcfg("check-log", "--json", "a.log").text)
    assert document["cause"]["class"] == class_
    assert document["next"]["reason"].endswith(f" ({class_})")
    assert envcfg("check-log", "a.log").text.endswith(f" ({class_})\n")
    assert envcfg("check-log", "--next", "a.log").text.endswith(f" ({class_})\n")


def test_last_words_have_a_class_and_no_cause() -> None:
    report = check("sbatch: error: Batch job submission failed: Invalid account\n")
    assert report.verdict == "inconclusive"
    assert report.cause is None
    assert report.next.words.endswith(" (scheduler)")


EXITED = "srun: error: nid001234: task 5: Exited with exit code 1\n"
ABORTED = "srun: error: nid001234: task 5: Aborted (core dumped)\n"
WHAT = (
    "terminate called after throwing an instance of 'std::runtime_error'\n  what():  "
)
RAISED_AT = 'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    x = f(x)\n'
KERNEL = "nid001234 kernel: amdgpu 0000:c1:00.0: amdgpu: ring gfx_0.0.0 timeout, "
FLUX = "1764.123s: job.exception type=node-failure severity=0 node failure on "
BAD_GPUS = {
    "OpenACC": "call to cuCtxCreate returned error 214 (CUDA_ERROR_ECC_UNCORRECTABLE): Other\n" + EXITED,
    "OpenACC with a rank": "5: call to cuCtxCreate returned error 214 (CUDA_ERROR_ECC_UNCORRECTABLE): Other\n" + EXITED,
    "HIP": WHAT + "hipDeviceSynchronize() error: hipErrorECCNotCorrectable\n" + ABORTED,
    "PyTorch on HIP": RAISED_AT + "RuntimeError: HIP error: uncorrectable ECC error encountered\n" + EXITED,
    "JAX": RAISED_AT + "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered\n" + EXITED,
    "CuPy": RAISED_AT + "cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorECCUncorrectable: uncorrectable ECC error encountered\n" + EXITED,
    "Kokkos": WHAT + "cudaDeviceSynchronize() error( cudaErrorECCUncorrectable): uncorrectable ECC error encountered Kokkos_Cuda_Instance.cpp:161\n" + ABORTED,
    "Kokkos on HIP": WHAT + "hipStreamSynchronize(stream) error( hipErrorECCNotCorrectable): uncorrectable ECC error encountered Kokkos_HIP.cpp:66\n" + ABORTED,
    "OpenMP": "CUDA error: uncorrectable ECC error encountered\nLibomptarget error: Call failed\n" + ABORTED,
    "NCCL": "nid001234:900:955 [0] enqueue.cc:1556 NCCL WARN Cuda failure 214 'uncorrectable ECC error encountered'\n" + EXITED,
    "the kernel": KERNEL + "signaled seq=123, emitted seq=125\n" + ABORTED,
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_GPUS)
def test_a_bad_gpu_is_no_fault_of_the_program(name: str) -> None:
    report = check(BAD_GPUS[name])
    assert report.cause
    assert (report.verdict, report.cause.class_) == ("broken", "GPU")
    assert report.next.action == "restart without"
    assert report.next.nodes == report.cause.nodes == ("nid001234",)


@pytest.mark.parametrize("end", ["", " (shell rank 3)"])
def test_a_node_that_flux_lost_is_left_out(end: str) -> None:
    report = check(f"step 1 loss 2\n{FLUX}elcap8767{end}\nflux-job: task(s) Killed\n")
    assert (report.verdict, report.cause and report.cause.class_) == ("broken", "node")
    assert report.next[:2] == ("restart without", ("elcap8767",))


@pytest.mark.parametrize("hosts", ["elcap[12-13]", "elcap[1,7]"])
def test_a_list_of_lost_nodes_names_no_wrong_node(hosts: str) -> None:
    report = check(f"{FLUX}{hosts}\n")
    assert (report.next.action, report.next.nodes) == ("restart", ())


@pytest.mark.parametrize(
    "line",
    [
        KERNEL + "but soft recovered",
        "retry on cudaErrorECCUncorrectable is on",
        FLUX.replace("severity=0", "severity=2") + "elcap8767",
    ],
)
def test_errors_that_the_job_outlives_are_no_cause(line: str) -> None:
    steps = "".join(f"step {number} loss 1.5\n" for number in range(9))
    assert check(f"{line}\n{steps}").verdict != "broken"

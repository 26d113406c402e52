"""Deaths of jobs in the output of three launchers: first line, next step and class.

``deaths.txt`` was written before the rules for it, ``deaths_later.txt`` after them, and
``deaths_public*.txt`` from public issues, each before the rules for it. The shares are
floors: raise them with the rules, never lower them.
"""

from __future__ import annotations

import pytest
from checking import check
from deaths import FRAMES, judge_death, read_deaths

from suites import mark_sample

# Per cent: first lines, next steps, classes. Every other file is judged daily.
SHARES = {
    "deaths_public_later.txt": (96, 99, 98),
    "deaths.txt": (92, 98, 97),
    "deaths_faults.txt": (100, 100, 100),
    "deaths_public.txt": (97, 96, 99),
    "deaths_wordings.txt": (100, 100, 100),
    "deaths_later.txt": (95, 100, 100),
    "deaths_excerpts.txt": (91, 100, 100),
    "deaths_support.txt": (100, 100, 100),
}


@pytest.mark.parametrize("name", mark_sample(SHARES, every=2))
def test_first_lines_name_the_cause_and_next_steps_help(name: str) -> None:
    judged = [
        judge_death(death, frame)
        for death in read_deaths(name).values()
        for frame in FRAMES
    ]
    fields = "names_cause", "helps", "names_class"
    for field, floor in zip(fields, SHARES[name], strict=True):
        count = sum(getattr(judgement, field) for judgement in judged)
        assert 100 * count // len(judged) >= floor, field


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("argparse", "ended with exit code 1: train.py: error: unrecognized arguments"),
        ("pyxis-import", "[ERROR] URL https://nvcr.io/v2/nvidia/pytorhc/manifests"),
        ("vllm-engine", "ValueError: To serve at least one request"),
        ("xid-79", "nid001007 lost a GPU: Xid (PCI:0000:41:00): 79"),
        ("headless", "TypeError: forward() got an unexpected keyword argument"),
        ("rich-box", "AttributeError: 'NoneType' object has no attribute 'shape'"),
    ],
)
def test_cause_behind_a_wrapper_or_an_exit_code(
    name: str, words: str, frame: str
) -> None:
    death = read_deaths("deaths.txt")[name]
    summary = judge_death(death, frame).summary
    if name == "argparse" and frame == "plain":
        words = "last words of the job: train.py: error: unrecognized arguments"
    assert words in summary


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("vllm-26898", "ended: ValueError: Free memory on device"),
        ("LMCache-2306", "ended: ValueError: vllm model for vllm-instance not found"),
        ("llm-scaler-154", "Worker proc VllmWorker-3 died unexpectedly"),
        ("ray-creation-task", "ended: ValueError: No available memory for the cache"),
        ("sglang-26265", "ended: RuntimeError: Prefill out of memory"),
        ("ray-46548", "node 10.1.1.9 (nid001009) was lost: Ray has marked it dead"),
    ],
)
def test_cause_of_a_server_is_that_of_its_worker(
    name: str, words: str, frame: str
) -> None:
    death = read_deaths("deaths_public.txt")[name]
    assert words in judge_death(death, frame).summary


@pytest.mark.parametrize(
    ("exits", "owner"),
    [
        (("nid001009: task 3: Aborted",), "rank 3 (nid001009): "),
        (
            ("nid001009: task 3: Aborted", "nid001010: task 8: Terminated"),
            "rank 3 (nid001009): ",
        ),
        # Any of two ranks that failed may have written the line.
        (
            (
                "nid001010: task 8: Exited with exit code 1",
                "nid001009: task 3: Aborted",
            ),
            "",
        ),
        (("nid001009: tasks 0-7: Aborted",), "a process on nid001009: "),
    ],
)
def test_an_error_without_a_name_is_of_the_only_rank_that_failed(
    exits: tuple[str, ...], owner: str
) -> None:
    fault = (
        "Memory access fault by GPU node-4 on address 0x7fc1. Reason: Page not present"
    )
    lines = [fault, *(f"srun: error: {line}" for line in exits)]
    report = check("".join(f"{line}\n" for line in lines))
    words = "a kernel accessed invalid memory"
    assert report.summary.startswith(f"broken: {owner}{words}")


def test_no_rank_that_only_ended_lost_a_gpu() -> None:
    """A failed GPU ends ranks on other nodes, too, and these may be reported first."""
    xid = "NVRM: Xid (PCI:0000:1b:00): 79, pid=1234, GPU has fallen off the bus."
    for end in ("Terminated", "Exited with exit code 1"):
        lines = [f"srun: error: {who}: {end}" for who in ("n2: task 7", "n1: task 0")]
        report = check("\n".join([xid, *lines, ""]))
        assert report.summary.startswith("broken: the job lost a GPU: Xid"), end
        assert report.next.nodes == ()


def test_a_program_that_the_job_script_did_not_find_stays_the_cause() -> None:
    """Later commands of the script may fail for want of its results."""
    report = check(
        "/job/train.sh: line 5: python3.11: command not found\n"
        "Traceback (most recent call last):\n"
        '  File "/job/report.py", line 3, in <module>\n'
        "FileNotFoundError: [Errno 2] No such file or directory: 'out.json'\n"
        "srun: error: n1: task 0: Exited with exit code 1\n"
    )
    assert "python3.11: command not found" in report.summary

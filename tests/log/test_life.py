"""Signs of life: jobs that ended well are not broken, and those that died are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from checking import check as judged
from checking import rules_of
from finished import (
    BEGIN,
    DOWN,
    FRAMEWORKS,
    LIGHTNING_END,
    MLPERF_END,
    NOISE,
    STEPS,
    TEARDOWN,
    finished,
    of_rank_0,
)
from jobs import Job, text

from envcfg.core.log_checking import follow_logs
from envcfg.log.expectations import Expectations
from envcfg.log.read import life_signs
from envcfg.log.read.rulebook import load_rules
from envcfg.log.verdict import LogReport
from envcfg.report.log.log_text import progress_of
from suites import mark_sample

SIGNS: list[dict[str, Any]] = yaml.safe_load(
    Path(life_signs.__file__).with_suffix(".yaml").read_text("utf-8")
)["signs"]
GOOD = text(Job())
TRAINS = "".join(f"{FRAMEWORKS['megatron'].step(n)}\n" for n in range(10, 250, 10))
KILLED = "srun: error: nid001001: task 3: Killed\n"
LOST = (
    "nid001001:4711:4999 [0] transport/net_ib.cc:1309 NCCL WARN NET/IB : Got completion "
    "from peer 10.0.0.2<40001> with status=12 opcode=0 len=0 vendor err 129\n"
)
RAISED = (
    "torch.distributed.DistBackendError: NCCL error in: ../ProcessGroupNCCL.cpp:1, "
    "remote process exited or there was a network error, NCCL version 2.21.5\n"
)


def check(log: str) -> LogReport:
    return judged(of_rank_0(log))


@pytest.mark.parametrize("sign", SIGNS, ids=lambda each: str(each["id"]))
def test_a_sign_knows_its_samples_and_no_other_does(sign: dict[str, Any]) -> None:
    assert set(sign) <= {
        "id",
        "kind",
        "needle",
        "pattern",
        "pace",
        "says",
        "source",
        "samples",
        "counter",
    }
    assert bool(sign.get("says")) == (sign["kind"] in life_signs.ENDS)
    for line in sign["samples"]:
        ((_, found),) = life_signs.signs_in(line.encode())
        assert (found.kind, found.says) == (sign["kind"], sign.get("says", ""))
        assert (found.pace is None) or "pace" in sign
    # At least one sample names the time of a step.
    paces = [life_signs.signs_in(line.encode())[0][1].pace for line in sign["samples"]]
    assert any(paces) == ("pace" in sign)
    for line in sign.get("counter", ()):
        assert not re.search(sign["pattern"], line)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", mark_sample(FRAMEWORKS, every=2))
def test_a_job_that_ended_well_is_not_broken(name: str, seed: int) -> None:
    log = finished(name, seed=seed, nccl=seed != 3)
    report = check(log)
    assert report.verdict in ("ok", "inconclusive"), report.summary
    progress = report.job.progress
    assert progress is not None
    assert bool(progress.ended) == FRAMEWORKS[name].proven
    if FRAMEWORKS[name].kept(1):
        assert progress.checkpoint is not None


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_job_that_printed_progress_and_died_is_broken(name: str) -> None:
    log = finished(name)
    program = FRAMEWORKS[name]
    steps = STEPS * program.every
    head, last, _ = log.rpartition(program.step(steps))
    for death in (KILLED, LOST + RAISED, LOST + RAISED + last):
        report = check(f"{head}{death}")
        assert report.verdict == "broken", death
        assert not report.job.progress or not report.job.progress.ended


@pytest.mark.parametrize("noise", [*BEGIN, *NOISE, *DOWN])
def test_each_noise_around_a_run_that_ended_well(noise: str) -> None:
    before = {**BEGIN, **NOISE}.get(noise, "")
    after = {**DOWN, **NOISE}.get(noise, "")
    steps = "".join(f"{FRAMEWORKS['mlperf'].step(n)}\n" for n in range(10))
    for log in (GOOD, ""):
        for end in (MLPERF_END, LIGHTNING_END):
            report = check(f"{before}{log}{steps}{end}\n{after}")
            assert report.verdict == ("ok" if log else "inconclusive"), report.summary
            assert report.next.action == "done"


def test_teardown_messages_have_sources() -> None:
    text = Path(__file__).with_name("teardown.txt").read_text("utf-8")
    heads = re.findall(r"(?m)^=== (.*)", text)
    assert len(heads) == len(TEARDOWN) >= 8
    assert all(": " in head for head in heads)


@pytest.mark.parametrize(
    ("death", "words"),
    [
        (
            "munmap_chunk(): invalid pointer\n",
            "crashed: munmap_chunk(): invalid pointer",
        ),
        (
            "double free or corruption (out)\n",
            "crashed: double free or corruption (out)",
        ),
        (
            "run.sh: line 31:  4711 Aborted      (core dumped) python t.py\n",
            "aborted (SIGABRT)",
        ),
    ],
)
def test_a_crash_after_the_end_of_a_program_is_a_death(death: str, words: str) -> None:
    report = check(f"{GOOD}{TRAINS}{LIGHTNING_END}\n{death}")
    assert report.verdict == "broken"
    assert words in report.summary
    assert report.next.action == "fix first"


def test_what_follows_an_end_that_a_program_claims() -> None:
    """A program that says that it is done may still die, and MLPerf's end is judged."""
    claimed = f"{GOOD}{TRAINS}[after training is done] datetime: 2026-03-14 09:28:00\n"
    assert check(claimed + LOST).verdict == "ok"
    assert check(claimed + KILLED).verdict == "broken"
    died = check(claimed + LOST + KILLED)
    assert died.network_verdict == "broken"
    proven = f"{GOOD}{TRAINS}{MLPERF_END}\n"
    assert check(proven + LOST).verdict == "ok"
    assert check(proven + KILLED).verdict == "broken"
    # A second run in the same log has begun, and died.
    assert check(proven + TRAINS + LOST + RAISED).verdict == "broken"


def test_progress_that_a_dying_program_held_back_excuses_nothing() -> None:
    some = "".join(f"{FRAMEWORKS['nanogpt'].step(n)}\n" for n in range(100))
    assert check(GOOD + LOST + some).verdict == "broken"
    assert check(GOOD + LOST + some * 9).verdict == "inconclusive"
    assert check(GOOD + LOST + RAISED + some * 9).verdict == "broken"


def test_only_a_new_attempt_excuses_a_death_before_a_good_end() -> None:
    died = GOOD + LOST + RAISED + KILLED
    again = "envcfg: note: the step ended with 1; the job starts again\n"
    done = "[after training is done] datetime: 2026-03-14 09:28:00\n"
    assert check(died + GOOD + TRAINS + done).verdict == "broken"
    assert check(died + again).verdict == "broken"
    assert check(died + again + GOOD + TRAINS + done).verdict != "broken"


def test_a_table_of_another_job_excuses_nothing() -> None:
    table = "4711              train        gpu    project        512  COMPLETED      0:0 \n"
    assert check(table + GOOD + LOST).verdict == "broken"


def test_processes_that_train_each_for_itself_stay_broken() -> None:
    from scenarios import SCENARIOS

    assert "worlds-of-one" in rules_of(
        check(SCENARIOS["worlds-of-one"].log + TRAINS + MLPERF_END)
    )


def test_how_far_a_job_came_is_told() -> None:
    report = check(
        f"{GOOD}{TRAINS}  successfully saved checkpoint from iteration     200 to /x\n"
    )
    assert report.job.progress is not None
    assert report.job.progress == ("240", "240", "2026-03-14 09:28:00", "200", None)


@pytest.mark.nightly
def test_what_is_tried_again_is_no_proof_while_the_job_runs(tmp_path: Path) -> None:
    log = tmp_path / "slurm-4711.out"
    log.write_text("".join(BEGIN.values()), "utf-8")
    report, proof = follow_logs([str(log)], Expectations(), 0.2)
    assert report.verdict == "broken"
    rules = {each.id: each for each in load_rules()}
    phases = {
        rules[each.rule].phase for each in proof.findings if each.severity == "error"
    }
    assert phases <= {"start", "end"}
    for name in FRAMEWORKS:
        log.write_text(finished(name), "utf-8")
        report, proof = follow_logs([str(log)], Expectations(), 0.0)
        assert "broken" not in (report.verdict, proof.verdict), name


def test_a_part_of_an_epoch_is_no_step() -> None:
    line = "{'loss': 1.9043, 'learning_rate': 4.99e-05, 'epoch': 0.02}\n"
    assert "at epoch 0.02;" in (progress_of(check(line).job) or "")

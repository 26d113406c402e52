"""The time of a program's steps, from lines that its log contains anyway."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from watching import Clock

from envcfg.core import step_pace
from envcfg.core.step_pace import StepPace
from support import ROOT

sys.path.append(str(ROOT / "tests/log"))
from finished import FRAMEWORKS

Line = Callable[[int, float], str]
# Lines of step *n*, which takes *s* seconds.
STATED: dict[str, Line] = {
    "Megatron-LM": lambda n, s: (
        f" [2026-03-14 09:26:53] iteration {n:8}/    2000 | consumed samples:         5120 | "
        f"elapsed time per iteration (ms): {1000 * s:.1f} | learning rate: 3.000E-05 | global batch size:   512 |"
    ),
    "NeMo": lambda n, s: (
        f"Training epoch 0, iteration {n}/1999 | lr: 3e-05 | global_batch_size: 512 | global_step: {n} | "
        f"reduced_train_loss: 11.03 | train_step_timing in s: {s:.3f}"
    ),
    "tqdm": lambda n, s: f" 45%|████▌     | {n}/2000 [03:12<03:55,  {1 / s:.2f}it/s]",
    "Lightning": lambda n, s: (
        f"Epoch 0:  45%|████▌     | {n}/2000 [03:12<03:55,  {s:.2f}s/it, v_num=0, train_loss=2.310]"
    ),
    "nanoGPT": lambda n, s: f"iter {n}: loss 4.1012, time {1000 * s:.2f}ms, mfu 38.12%",
    "MaxText": lambda n, s: (
        f"completed step: {n}, seconds: {s:.3f}, TFLOP/s/device: 181.2, loss: 9.812"
    ),
    "Keras": lambda n, s: (
        f"{n}/938 ━━━━━━━━━━━━━━━━━━━━ 12s {1000 * s:.0f}ms/step - accuracy: 0.9112 - loss: 0.3012"
    ),
    "torchvision": lambda n, s: (
        f"Epoch: [0][{n:4}/5005]\tTime  {s:.3f} ( 0.512)\tData  0.001 ( 0.201)\tLoss 6.9412e+00"
    ),
}  # fmt: skip
# These name no time, so it follows from the clock.
DERIVED: dict[str, Line] = {
    "DeepSpeed": lambda n, _: (
        f"[2026-03-14 09:26:53,124] [INFO] [timer.py:264:stop] epoch=0/micro_step={n}/global_step={n}, "
        "RunningAvgSamplesPerSec=71.2, CurrSamplesPerSec=71.9, MemAllocated=5.2GB"
    ),
    "torchtitan": lambda n, _: (
        f"[rank0]:[titan] 2026-03-14 09:26:53,123 - root - INFO - step: {n}  loss:  8.2012  memory: 30.11GiB(38.1%)"
    ),
    "Composer": lambda n, _: f"[epoch=1][batch={n}/4800]:",
}  # fmt: skip


class Run:
    """A program whose output grows while its pace is watched."""

    def __init__(self, path: Path, clock: Clock, line: Line, end: str = "\n") -> None:
        self.path, self.clock, self.line, self.end = path, clock, line, end
        path.touch()
        self.pace = StepPace([str(path)], 300)
        self.step = 0

    def run(self, minutes: int, seconds: float, *others: str) -> None:
        """Let steps of *seconds* pass, and each minute a look."""
        for _ in range(minutes):
            self.clock.now += 60
            with self.path.open("a") as file:
                for _ in range(int(60 / seconds)):
                    self.step += 1
                    file.write(f"{self.line(self.step, seconds)}{self.end}")
                file.writelines(f"{other}\n" for other in others)
            self.pace.look()


@pytest.fixture
def start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Line, str], Run]:
    clock = Clock()
    monkeypatch.setattr(step_pace, "time", clock)
    return lambda line, end: Run(tmp_path / "out", clock, line, end)


@pytest.mark.parametrize("name", [*STATED, *DERIVED])
def test_steps_that_become_slow_are_told(
    start: Callable[[Line, str], Run], name: str
) -> None:
    run = start({**STATED, **DERIVED}[name], "\r" if name == "tqdm" else "\n")
    run.run(30, 2.0)
    assert run.pace.seconds == pytest.approx(2.0, rel=0.05)
    assert run.pace.finding is None
    run.run(8, 4.0)
    assert run.pace.finding is not None
    assert run.pace.finding.message == "a step takes 4 s, and 2 s before"
    run.run(8, 2.0)
    assert run.pace.finding is None


# A server has no steps, and others print no whole number, or the same line again.
NO_PACE = {"vllm", "axolotl", "keras"}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_steps_of_every_framework_have_a_pace(
    start: Callable[[Line, str], Run], name: str
) -> None:
    run = start(lambda number, _: FRAMEWORKS[name].step(number), "\n")
    run.run(10, 2.0)
    assert bool(run.pace.seconds) == (name not in NO_PACE), run.line(1, 2.0)
    assert run.pace.finding is None


VALIDATION = " 45%|████▌     | 45/100 [03:12<03:55,  1.20s/it]"


@pytest.mark.parametrize(
    "phases",
    [
        [(20, 2.0), (1, 30.0), (10, 2.0), (2, 20.0), (10, 2.0)],  # checkpoints
        [(2, 20.0), (20, 2.0), (20, 2.6)],  # compiles first; a little slower
        [(20, 2.0), (20, 1.0), (20, 1.3)],
    ],
)
def test_usual_changes_are_no_finding(
    start: Callable[[Line, str], Run], phases: Sequence[tuple[int, float]]
) -> None:
    for line in (STATED["Megatron-LM"], DERIVED["torchtitan"]):
        run = start(line, "\n")
        for minutes, seconds in phases:
            run.run(minutes, seconds)
            assert run.pace.finding is None


def test_other_batches_and_evaluations_are_told_apart(
    start: Callable[[Line, str], Run],
) -> None:
    run = start(STATED["Megatron-LM"], "\n")
    run.run(20, 2.0)
    run.line = lambda n, s: STATED["Megatron-LM"](n, s).replace("512", "1024")
    run.run(10, 4.0)
    assert run.pace.finding is None
    run = start(STATED["tqdm"], "\n")
    run.run(20, 0.5)
    run.line = lambda n, _: VALIDATION.replace("45/100", f"{n % 100}/100")
    run.run(8, 1.2)
    assert run.pace.finding is None


def bar(step: int, steps: int, elapsed: float, seconds: float) -> str:
    minutes, rest = divmod(int(elapsed), 60)
    clock = f"{minutes // 60}:{minutes % 60:02}:{rest:02}".removeprefix("0:")
    return f" 45%|████▌     | {step}/{steps} [{clock}<9:00:00, {seconds:.2f}s/it]"


def test_a_bar_after_a_resume_is_counted_and_not_trusted(
    start: Callable[[Line, str], Run],
) -> None:
    run = start(STATED["tqdm"], "\r")
    # The first step of the bar is that of the checkpoint, so its average is too small.
    run.line = lambda n, s: bar(1000 + n, 5000, run.clock.now, s * n / (n + 30))
    run.run(90, 20.0)
    assert run.pace.finding is None
    assert run.pace.seconds == pytest.approx(20.0, rel=0.02)
    run.run(10, 60.0)
    assert run.pace.finding is not None
    assert run.pace.finding.message == "a step takes 60 s, and 20 s before"


@pytest.mark.parametrize(("steps", "seconds"), [(100, 0.4), (100, 0.08), (7, 20.0)])
def test_bars_that_begin_anew_have_a_pace(
    start: Callable[[Line, str], Run], steps: int, seconds: float
) -> None:
    run = start(STATED["tqdm"], "\r")
    run.line = lambda n, s: bar(n % steps, steps, n % steps * s, s)
    for _ in range(60):
        run.run(1, seconds)
        assert run.pace.finding is None
    assert run.pace.seconds == pytest.approx(seconds, rel=0.1)


@pytest.mark.parametrize("name", ["tqdm", "torchtitan"])
def test_a_job_that_stands_still_has_no_pace(
    start: Callable[[Line, str], Run], name: str
) -> None:
    run = start({**STATED, **DERIVED}[name], "\n")
    run.run(20, 2.0)
    run.run(8, 4.0)
    assert run.pace.seconds == 4.0
    run.run(4, 99.0)  # no line
    assert run.pace.seconds
    assert run.pace.finding
    run.run(4, 99.0)
    assert (run.pace.seconds, run.pace.finding) == (None, None)
    assert run.pace.has_steps
    run.run(2, 4.0)
    assert run.pace.seconds == 4.0
    # One line each ten minutes is no standstill.
    for _ in range(8):
        run.run(1, 60.0)
        run.run(9, 99.0)
    assert run.pace.seconds


def test_an_output_that_vanishes_or_holds_anything_is_no_error(
    start: Callable[[Line, str], Run],
) -> None:
    run = start(lambda *_: "\x00" * 100_000 + " 45%|█| 9/9 [1<1, 0.00it/s]", "")
    run.run(3, 2.0)
    run.path.unlink()
    run.clock.now += 60
    run.pace.look()
    assert (run.pace.seconds, run.pace.finding) == (None, None)


PLAIN: dict[str, Line] = {
    "a number of steps": lambda n, _: f"step {n}/10000 loss 2.31",
    "a measure": lambda n, _: f"rank 0: iteration {n}: loss=2.31",
    "a prefix of srun": lambda n, _: f"0: Step {n} | loss 2.3100",
}


@pytest.mark.parametrize("name", PLAIN)
def test_steps_of_a_program_with_its_own_format_are_steps(
    start: Callable[[Line, str], Run], name: str
) -> None:
    job = start(PLAIN[name], "\n")
    job.run(1, 10)
    assert not job.pace.has_steps
    job.run(4, 10)
    assert job.pace.has_steps
    assert job.pace.seconds == pytest.approx(10, rel=0.01)


@pytest.mark.parametrize(
    "line", ["Step {}: load the data", "the next step is {}", "epoch {} begins"]
)
def test_other_lines_with_numbers_are_no_steps(
    start: Callable[[Line, str], Run], line: str
) -> None:
    job = start(lambda n, _: line.format(n), "\n")
    job.run(9, 10)
    assert not job.pace.has_steps


@pytest.mark.parametrize("line", [PLAIN["a number of steps"], DERIVED["Composer"]])
def test_a_program_whose_steps_stop_is_told(
    start: Callable[[Line, str], Run], line: Line
) -> None:
    job = start(line, "\n")
    job.run(9, 10)
    # Its own lines, and those of envcfg, differ.
    for minute in range(12):
        assert job.pace.finding is None or minute > 9
        job.run(1, 999, "envcfg: all 8 GPUs busy" * minute)
    assert job.pace.finding
    assert job.pace.finding.rule == "steps-stop"
    assert "no line for 12 min" in job.pace.finding.message
    job.run(1, 10)
    assert job.pace.finding is None


def test_a_program_that_evaluates_for_long_is_not_told(
    start: Callable[[Line, str], Run],
) -> None:
    job = start(PLAIN["a number of steps"], "\n")
    job.run(9, 10)
    for batch in range(30):
        job.run(1, 999, f"evaluated {batch} batches")
        assert job.pace.finding is None

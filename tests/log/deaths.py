"""The deaths of ``deaths.txt`` in the output of three launchers, and the judgement of each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from checking import check

FRAMES = ("plain", "srun -l", "torchrun")
_HEAD = re.compile(r"=== (\S+)\nclass: (.*); next: (.*)\nwords: (.*)\n")
_END_OF_SRUN = "srun: error: nid001001: task 3: Exited with exit code 1\n"
_END_OF_TORCHRUN = """\
Traceback (most recent call last):
  File "/opt/venv/bin/torchrun", line 8, in <module>
    sys.exit(main())
  File "/opt/venv/lib/python3.11/site-packages/torch/distributed/run.py", line 918, in main
    run(args)
  File "/opt/venv/lib/python3.11/site-packages/torch/distributed/launcher/api.py", line 269, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-02_03:04:05
  host      : nid001001
  rank      : 3 (local_rank: 3)
  exitcode  : 1 (pid: 4411)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================
"""


class Death(NamedTuple):
    """One death: the accepted classes and next steps, and the words of the first line.

    Each of *words* must be in the first line, in one of its forms.
    """

    name: str
    classes: tuple[str, ...]
    actions: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    lines: tuple[str, ...]


class Judgement(NamedTuple):
    """What check-log got right of one death in one frame, and its first and last line."""

    names_cause: bool
    helps: bool
    names_class: bool
    summary: str
    next: str


def read_deaths(name: str) -> dict[str, Death]:
    """Return the deaths in the file *name* of this folder, by their name."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    deaths = {}
    for part in re.split(r"^(?==== )", text, flags=re.MULTILINE)[1:]:
        head = _HEAD.match(part)
        assert head, f"{name}: {part.splitlines()[0]} has no class, next or words"
        title, classes, actions, words = head.groups()
        deaths[title] = Death(
            title,
            _split(classes),
            _split(actions),
            tuple(_split(word) for word in words.split(" | ")),
            tuple(part[head.end() :].splitlines()),
        )
    return deaths


def _split(choices: str) -> tuple[str, ...]:
    return tuple(choice.strip() for choice in choices.split(" / "))


def write_log(death: Death, frame: str) -> str:
    """Return the log of *death* as the launcher of *frame* writes it."""
    prefix = {"plain": "", "srun -l": "3: ", "torchrun": "[rank3]: "}[frame]
    lines = [
        prefix + line[1:] if line.startswith("@") else line for line in death.lines
    ]
    log = "".join(f"{line}\n" for line in lines)
    if frame == "plain" or not any(line.startswith("@") for line in death.lines):
        return log  # a job without output of a rank ends before its launcher reports
    return log + (_END_OF_SRUN if frame == "srun -l" else _END_OF_TORCHRUN)


def judge_death(death: Death, frame: str) -> Judgement:
    """Judge *death* in *frame* with check-log."""
    report = check(write_log(death, frame))
    words = f"{report.next.words} {report.cause.message if report.cause else ''}"
    action, nodes = report.next.action, ",".join(report.next.nodes)
    return Judgement(
        all(any(form in report.summary for form in forms) for forms in death.words),
        not {action, f"{action} {nodes}"}.isdisjoint(death.actions),
        any(f"({name})" in words for name in death.classes),
        report.summary,
        report.next.words,
    )


if __name__ == "__main__":
    import sys

    judged = {
        (name, frame): judge_death(death, frame)
        for name, death in read_deaths(sys.argv[1]).items()
        for frame in FRAMES
    }
    for (name, frame), judgement in judged.items():
        if not all(judgement[:3]):
            marks = "".join(".x"[not passed] for passed in judgement[:3])
            print(
                f"{marks} {name} [{frame}]\n    {judgement.summary}\n    {judgement.next}"
            )
    for field in ("names_cause", "helps", "names_class"):
        count = sum(getattr(judgement, field) for judgement in judged.values())
        print(f"{field}: {count} of {len(judged)}")

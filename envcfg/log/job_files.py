"""The job of each file: by the job's id in its lines, else by the file's name."""

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from envcfg.log.collective.sidecars import read_edges
from envcfg.log.numbers import grouped

EDGE = 1 << 17  # bytes at each end of a file that are searched for the job's id
_ID = re.compile(
    rb"\*\*\* (?:JOB|STEP) (\d+)|\bSLURM_JOB_?ID=(\d+)|\bStepId=(\d+)"
    rb"|\b(?:srun|salloc): (?:[\w ]{1,60} )?[Jj]ob (?:allocation )?(\d+)"
)
_COMMUNICATOR = re.compile(rb"\bcommId (0x[0-9a-f]+)")
# Output names of Slurm, Flux, PBS and SGE, with the task of an array. The rest of a name
# may be a rank.
_OWN_NAME = re.compile(
    r"^(?:slurm|flux)-([^\W_]+)(?:_(\d+))?|\.[oe](\d+)(?:\.(\d+))?(?![^.])"
)
# Output names that envcfg and users give. Names such as nccl.HOST.PID.log end like them,
# so only an ending of a job's output may follow other numbers.
_GIVEN_NAME = re.compile(
    r"^(?:.*?[-_.])?(\d+)(?:_(\d+))?[-_.]*\.(?:out|err)\b"
    r"|^[^\W\d]\D*?[-_.](\d+)(?:_(\d+))?[-_.]*\.(?:log|txt)\b"
)
# The number behind one of these words tells parts of a job apart.
_PART = re.compile(
    r"(?:rank|node|host|nid|pid|shard|gpu|device|worker|task|proc(?:ess)?|nccl|rccl|debug"
    r"|attempt|epoch|step|part)[-_.]*\d+",
    re.IGNORECASE,
)
_WHOLE = r"\d+|\.(?:out|err|log|txt|gz|xz|zst)\b"


# Marks of a job in the lines of a file: its id, and ids of its communicators.
FileMarks = tuple[str, frozenset[bytes]]


def marks_of(files: Sequence[str]) -> dict[str, FileMarks]:
    """Return the marks of each file that can be read twice."""
    marks = {}
    for name in files:
        with suppress(OSError):
            text = read_edges(name, EDGE)
            numbers = job_ids_of(text)
            # A log that names several jobs may print lines of other jobs.
            number = numbers.pop() if len(numbers) == 1 else ""
            marks[name] = number, frozenset(_COMMUNICATOR.findall(text))
    return marks


class JobName(NamedTuple):
    """The number of a job in a file's name, and the task of an array."""

    number: str
    task: str
    is_own: bool  # the scheduler's own name

    @property
    def label(self) -> str:
        """The number, with the task."""
        return f"{self.number}_{self.task}" if self.task else self.number


def by_job(
    files: Sequence[str], marks: Mapping[str, FileMarks] | None = None
) -> dict[str, list[str]]:
    """Return *files* by the number of their job; empty for files without one.

    Args:
        files: paths.
        marks: marks in the lines of files. An id in lines precedes the name.
    """
    marks = {**dict.fromkeys(files, ("", frozenset())), **(marks or {})}
    job_names = {name: parse_job_name(os.path.basename(name)) for name in files}
    _join_communicators(job_names, marks)
    # Of an id in lines, users know the number in the name of the file.
    labels: dict[str, str] = {}
    ids: dict[str, str] = {}
    for name, own in job_names.items():
        if number := marks[name][0]:
            labels[number] = labels.get(number) or own.label
            ids.setdefault(own.label, number)

    def number_of(name: str) -> str:
        label = job_names[name].label
        number = marks[name][0] or (ids.get(label, "") if label else "")
        return (labels[number] or number) if number else label

    jobs = grouped(files, number_of)
    numbered = [job for job in jobs if job]
    return jobs if len(numbered) > 1 else {"".join(numbered): list(files)}


def undecided_groups(files: Sequence[str]) -> list[list[str]]:
    """Return *files* without a job in groups of names that differ in numbers only."""
    return [*grouped(files, lambda name: re.sub(_WHOLE, "", name)).values()]


def job_ids_of(text: bytes) -> set[str]:
    """Return the ids of jobs in lines of *text*."""
    return {match[match.lastindex or 0].decode() for match in _ID.finditer(text)}


def parse_job_name(name: str) -> JobName:
    """Return the number of a job in the *name* of a file, without its folder."""
    is_own = _OWN_NAME.search(name)
    match = is_own or _GIVEN_NAME.search(_PART.sub("", _PART.sub("", name)))
    if match is None:
        return JobName("", "", False)
    return JobName(match[1] or match[3], match[2] or match[4] or "", bool(is_own))


def _join_communicators(
    job_names: dict[str, JobName], marks: Mapping[str, FileMarks]
) -> None:
    """Drop numbers of names that tell ranks apart: jobs share no communicator, and no
    job has the number 0."""
    for own in dict.fromkeys(job_names.values()):
        group = [
            name for name, second in job_names.items() if _may_be_ranks(own, second)
        ]
        ids = grouped(group, lambda name: job_names[name].label)
        shared = Counter(
            comm
            for names in ids.values()
            for comm in frozenset().union(*(marks[name][1] for name in names))
        )
        is_zero = any(
            not own.is_own and job_names[name].number == "0" for name in group
        )
        if is_zero or max(shared.values(), default=0) > 1:
            for name in group:
                job_names[name] = own._replace(number=own.number * own.is_own, task="")


def _may_be_ranks(first: JobName, second: JobName) -> bool:
    if not first.number or first.is_own != second.is_own:
        return False
    return first.number == second.number if first.is_own else bool(second.number)

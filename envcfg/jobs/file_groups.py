"""The files of each of many jobs: by ids in lines, communicators, then names; pure.

Logs of different jobs lie in one folder, so a name alone joins files only if it names a
job, the two outputs of one job, or a part of it.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from envcfg.log.job_files import job_ids_of, parse_job_name
from envcfg.log.numbers import collect, grouped
from envcfg.log.state.groups import connect

_CLUSTER = re.compile(rb"\bSLURM_CLUSTER_NAME=([\w.-]{1,64})")
_RANK = re.compile(
    rb"\brank (\d+) nranks (\d+)(?:[^\n]{0,200}?\bcommId (0x[0-9a-f]+))?"
)
_MOST_RANKS = 256  # of a file; more do not change the decision
# A part of a job in the name of its file. Numbers after other words, such as gpu or
# step, also tell the runs of a sweep apart.
_PART = re.compile(
    r"(?P<word>rank|shard|worker|proc(?:ess)?|node|nid|host|pid|attempt)"
    r"[-_.]*(?P<number>\d+)",
    re.IGNORECASE,
)
_COUNTED = ("rank", "shard", "worker", "proc", "process")  # begin at 0 or 1
_DEBUG = re.compile(r"^n?r?ccl", re.IGNORECASE)  # of NCCL_DEBUG_FILE
_OUTPUT = re.compile(r"(?:[-_.](?:out|err|stdout|stderr)|(?<=std)(?:out|err))(?=\.|$)")
_PACKED = re.compile(r"\.(?:gz|xz|zst)$")
_ID = re.compile(r"(?!(?:19|20)\d{6}$)\d{5,9}$")  # a number that is no date or count


class LogMarks(NamedTuple):
    """Marks of a job in the lines of a file."""

    number: str = ""  # the job's id; empty if there is none, or more than one
    cluster: str = ""
    # Ranks of its largest communicator: `ID RANK`, or only ` RANK` without an id.
    ranks: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The marks as one text, for the store."""
        return "\t".join((self.number, self.cluster, *self.ranks))


class JobFiles(NamedTuple):
    """The files of one job."""

    id: str  # as users know it, with the task of an array; empty if unknown
    raw_id: str  # the id in its lines; differs for a task of an array
    cluster: str
    files: tuple[str, ...]
    doubt: str  # the reason why other files may belong to it; else empty


def read_marks(text: bytes) -> LogMarks:
    """Return the marks in the *text* of a file."""
    numbers = job_ids_of(text)
    clusters = {match[1].decode() for match in _CLUSTER.finditer(text)}
    found = [
        (int(match[2]), f"{(match[3] or b'').decode()} {match[1].decode()}")
        for match in _RANK.finditer(text)
    ]
    size = max((nranks for nranks, _ in found), default=0)
    ranks = sorted({rank for nranks, rank in found if nranks == size > 1})
    return LogMarks(
        # A log that names several jobs may print lines of other jobs.
        numbers.pop() if len(numbers) == 1 else "",
        clusters.pop() if len(clusters) == 1 else "",
        tuple(ranks[:_MOST_RANKS]),
    )


def marks_of_text(text: str) -> LogMarks:
    """Return the marks that ``LogMarks.text`` wrote."""
    number, cluster, *ranks = f"{text}\t".split("\t")
    return LogMarks(number, cluster, tuple(filter(None, ranks)))


def split_jobs(marks: Mapping[str, LogMarks]) -> list[JobFiles]:
    """Return the jobs of files, given their *marks* by path, in the order of the files."""
    doubts: dict[str, str] = {}
    groups = grouped(marks, connect(_joined(marks, doubts)))
    return [_job_of(names, marks, doubts) for names in groups.values()]


def _joined(
    marks: Mapping[str, LogMarks], doubts: dict[str, str]
) -> Iterator[Sequence[str]]:
    """Yield files of one job; fill *doubts* by path."""
    by_id = grouped(marks, lambda name: (marks[name].cluster, marks[name].number))
    yield from (names for (_, number), names in by_id.items() if number)
    by_communicator = collect(
        (comm, name)
        for name, mark in marks.items()
        for comm in {rank.partition(" ")[0] for rank in mark.ranks} - {""}
    )
    for names in by_communicator.values():
        ranks = Counter(rank for name in names for rank in marks[name].ranks)
        # Parts of a job have different ranks. The same ranks are a copy, or a mistake.
        if max(ranks.values()) == 1 and _is_one_job(names, marks):
            yield names
    for (_, key), names in grouped(marks, _name_key).items():
        if not key or not names[1:]:
            continue
        if not _is_one_job(names, marks):
            doubt = "names of one job, but ids of several"
        elif key.startswith("#") and not _are_parts(names, marks):
            doubt = "names of parts of a job, but no sign in lines that they are"
        else:
            yield names
            continue
        doubts.update(dict.fromkeys(names, doubt))


def _is_one_job(names: Sequence[str], marks: Mapping[str, LogMarks]) -> bool:
    return len({marks[name].number for name in names} - {""}) < 2


def _name_key(path: str) -> tuple[str, str]:
    """Return the folder and the text that names of one job share; empty: none.

    A key of parts begins with a number sign.
    """
    folder, name = os.path.split(_PACKED.sub("", path))
    label = parse_job_name(name)
    if label.is_own or _ID.match(label.number):
        return folder, label.label
    stem = _OUTPUT.sub("", name)
    if _DEBUG.match(name):
        return folder, "#" + re.sub(r"\d+", "#", stem)
    if _PART.search(stem):
        return folder, "#" + _PART.sub("#", stem)
    return (folder, stem) if stem != name else (folder, "")


def _are_parts(names: Sequence[str], marks: Mapping[str, LogMarks]) -> bool:
    """Return whether files with names of parts are parts of one job, not whole jobs."""
    # Only one part of a job has rank 0.
    whole = sum(any(r.endswith(" 0") for r in marks[name].ranks) for name in names)
    parts = [_PART.search(os.path.basename(name)) for name in names]
    counted = [
        int(part["number"]) for part in parts if part and part["word"] in _COUNTED
    ]
    # The numbers of a sweep, such as lora-rank8 and lora-rank16, begin anywhere.
    return whole < 2 and min(counted, default=0) < 2


def _job_of(
    names: Sequence[str], marks: Mapping[str, LogMarks], doubts: Mapping[str, str]
) -> JobFiles:
    labels = [parse_job_name(os.path.basename(name)) for name in names]
    own = next((label.label for label in labels if label.is_own), "")
    given = next((label.label for label in labels if _ID.match(label.number)), "")
    number = next((marks[name].number for name in names if marks[name].number), "")
    # An array's task has an id in its lines that users do not know.
    id_ = own or (given if not number or "_" in given else number)
    return JobFiles(
        id_,
        number or id_ or next((label.label for label in labels), ""),
        next((marks[name].cluster for name in names if marks[name].cluster), ""),
        tuple(names),
        next((doubts[name] for name in names if name in doubts), ""),
    )

"""Which files are one job: by ids in lines, communicators, then names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.jobs.file_groups import LogMarks, read_marks, split_jobs

NCCL = b"nid001:7:7 [0] NCCL INFO comm 0x1 rank %d nranks %d busId 1 commId 0x%x - Init COMPLETE\n"


def groups(*names: str, **texts: bytes) -> set[frozenset[str]]:
    marks = {
        f"/d/{name}": read_marks(texts.get(f"t{at}", b""))
        for at, name in enumerate(names)
    }
    return {frozenset(name[3:] for name in job.files) for job in split_jobs(marks)}


# Names without any sign in lines: those between bars are one job.
NAMES = (
    "slurm-12.out | slurm-13.out",
    "slurm-12.out slurm-12.err | slurm-13.out",
    "slurm-100_1.out | slurm-100_2.out slurm-100_2.err",
    "train-4567890.out train-4567890.err | train-4567891.out",
    "sweep.o123 sweep.e123 | sweep.o124",
    "flux-fA1.out | flux-fB2.out",
    "lr1.out lr1.err | lr2.out lr2.err",
    "lr-0.1.log | lr-0.01.log | lr-0.2.log",
    "seed_1.log | seed_2.log | seed_3.log",
    "a_seed_1.log | b_seed_1.log",
    "run_017.txt | run_018.txt",
    "train_20261129.log | eval_20261129.log",
    "train.rank0.log train.rank1.log train.rank2.log | other.log",
    "rank-0.log rank-1.log",
    "lora-rank8.log | lora-rank16.log | lora-rank64.log",
    "nccl.nid001.71.log nccl.nid002.72.log",
    "out-node1.log out-node2.log",
    "scale-gpu8.log | scale-gpu16.log",
    "run-step100.log | run-step200.log",
    "a-shard0.log a-shard1.log | b-shard0.log b-shard1.log",
    "job.out.gz job.err",
    "x.stdout x.stderr",
)


@pytest.mark.parametrize("names", NAMES)
def test_names_alone_join_the_outputs_and_the_parts_of_a_job(names: str) -> None:
    expected = {frozenset(part.split()) for part in names.split("|")}
    assert groups(*names.replace("|", " ").split()) == expected


def test_an_id_in_lines_joins_files_of_any_name_and_precedes_names() -> None:
    by_id = groups(
        "a.log", "b.log", "slurm-7.out",
        t0=b"SLURM_JOB_ID=41\n", t1=b"srun: error: StepId=41.0\n", t2=b"SLURM_JOB_ID=42\n",
    )  # fmt: skip
    assert by_id == {frozenset({"a.log", "b.log"}), frozenset({"slurm-7.out"})}
    split = groups("x.out", "x.err", t0=b"SLURM_JOB_ID=1\n", t1=b"SLURM_JOB_ID=2\n")
    assert split == {frozenset({"x.out"}), frozenset({"x.err"})}


def test_a_log_that_names_several_jobs_has_no_id() -> None:
    assert read_marks(b"SLURM_JOB_ID=1\nSLURM_JOB_ID=2\n").number == ""


def test_a_communicator_joins_files_with_different_ranks_only() -> None:
    parts = groups("a.log", "b.log", t0=NCCL % (0, 2, 5), t1=NCCL % (1, 2, 5))
    assert parts == {frozenset({"a.log", "b.log"})}
    copies = groups("a.log", "b.log", t0=NCCL % (0, 2, 5), t1=NCCL % (0, 2, 5))
    assert copies == {frozenset({"a.log"}), frozenset({"b.log"})}
    ids = groups(
        "a.log", "b.log",
        t0=NCCL % (0, 2, 5) + b"SLURM_JOB_ID=1\n", t1=NCCL % (1, 2, 5) + b"SLURM_JOB_ID=2\n",
    )  # fmt: skip
    assert len(ids) == 2


def test_names_of_parts_that_are_whole_jobs_stay_alone_with_a_note() -> None:
    marks = {
        "/d/node1.log": read_marks(NCCL % (0, 2, 5) + NCCL % (1, 2, 5)),
        "/d/node2.log": read_marks(NCCL % (0, 2, 6) + NCCL % (1, 2, 6)),
    }
    jobs = split_jobs(marks)
    assert [job.files for job in jobs] == [("/d/node1.log",), ("/d/node2.log",)]
    assert all("names of parts" in job.doubt for job in jobs)


def test_equal_names_in_two_folders_are_two_jobs() -> None:
    marks = {f"/{folder}/slurm-5.out": LogMarks() for folder in "ab"}
    assert len(split_jobs(marks)) == 2


@pytest.mark.parametrize(
    ("name", "text", "ids"),
    [
        ("slurm-100_7.out", b"SLURM_JOB_ID=107\n", ("100_7", "107")),
        ("a.log", b"SLURM_JOB_ID=107\n", ("107", "107")),
        ("train-4567890.out", b"", ("4567890", "4567890")),
        ("train-20261129.out", b"", ("", "20261129")),
        ("run_017.log", b"", ("", "017")),
        ("train-12.out", b"", ("", "12")),
    ],
)
def test_the_id_is_the_one_that_users_know(
    name: str, text: bytes, ids: tuple[str, str]
) -> None:
    (job,) = split_jobs({f"/d/{name}": read_marks(text)})
    assert (job.id, job.raw_id) == ids


WORDS = st.text("abrnk0123456789-_.", min_size=1, max_size=12)


@given(st.dictionaries(WORDS, st.binary(max_size=60), min_size=1, max_size=12))
def test_each_file_is_in_one_job(files: dict[str, bytes]) -> None:
    jobs = split_jobs({f"/d/{name}": read_marks(text) for name, text in files.items()})
    assert sorted(name for job in jobs for name in job.files) == sorted(
        f"/d/{n}" for n in files
    )

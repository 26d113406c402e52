"""Limits that are asked of the scheduler here, and limits that nobody has looked at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envcfg.profile.catalog import Catalog
from envcfg.site.current_limits import as_of_today
from envcfg.site.queue_reader import READERS, read_associations, read_qos
from support import Wrapped, envcfg

DAY = 86_400
# 2026-11-23 and a year later, in seconds since 1970
TODAY, LATER = 1_795_392_000, 1_795_392_000 + 365 * DAY
LUMI = "job --profile lumi-g --container none --account project_465000001".split()
CONFIG = "ClusterName = {}\n"
PARTITIONS = """\
PartitionName=standard-g AllowQos=ALL QoS=big MaxNodes=16 MaxTime=UNLIMITED State=UP OverSubscribe=EXCLUSIVE
PartitionName=night-g AllowQos=ALL QoS=N/A MaxNodes=3 MaxTime=12:00:00 State=UP OverSubscribe=NO
PartitionName=dev-g AllowQos=ALL QoS=N/A MaxNodes=UNLIMITED MaxTime=03:00:00 State=UP OverSubscribe=NO
"""
QOS = "normal||\nbig|cpu=1024,gres/gpu:mi250=64,node=8|1-00:00:00\nbroken|\n"


def job(*more: str) -> Wrapped:
    return envcfg(*LUMI, "--job-name", "j", *more, "--", "./a.out")


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENVCFG_SITE", str(tmp_path / "no-site"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-user"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(TODAY))
    for name in ("SLURM_JOB_ID", "SLURM_CLUSTER_NAME", "PBS_JOBID", "FLUX_URI"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Slurm that notes each question; returns the notes."""
    programs, notes = tmp_path / "programs", tmp_path / "asked"
    programs.mkdir()
    says(
        programs,
        "scontrol",
        f'case "$*" in *partition*) cat <<E\n{PARTITIONS}E\n;; *) cat {programs}/config ;; esac',
    )
    says(
        programs,
        "sacctmgr",
        f'case "$*" in *assoc*) cat {programs}/own ;; *) cat <<E\n{QOS}E\n;; esac',
    )
    (programs / "own").write_text("")
    monkeypatch.setenv("LOGNAME", "ada")
    says(programs, "sbatch", "exit 1")
    (programs / "config").write_text(CONFIG.format("lumi"))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("NOTES", str(notes))
    return notes


def says(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f'#!/bin/sh\necho {name} >> "$NOTES"\n{text}\n')
    path.chmod(0o755)


def test_a_limit_refuses_until_it_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    asking = ("--partition", "dev-g", "--time", "5:00:00", "--nodes", "1")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(TODAY - 720 * DAY))
    refused = job(*asking)
    assert refused.code == 2
    assert "is more than partition dev-g gives" in refused.err
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(LATER))
    allowed = job(*asking)
    assert allowed.code == 0
    note = next(line for line in allowed.err.splitlines() if "dev-g gives" in line)
    assert note.startswith("envcfg: note: ")
    assert "as of 20" in note
    assert "; prices of 20" in allowed.err


@pytest.mark.parametrize(
    ("asked_for", "severity"),
    [
        (("--nodes", "1", "--time", "5:59:59"), "note"),
        (("--nodes", "1", "--time", "6:00:00"), "warning"),
        (("--nodes", "33", "--time", "1:00:00"), "note"),
        (("--nodes", "64", "--time", "1:00:00"), "warning"),
    ],
)
def test_twice_an_old_limit_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, asked_for: tuple[str, ...], severity: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(LATER))
    allowed = job("--partition", "dev-g", *asked_for)
    assert allowed.code == 0
    lines = [line for line in allowed.err.splitlines() if "dev-g gives" in line]
    assert [line.split(": ")[1] for line in lines] == [severity]


@pytest.mark.parametrize("unlimited", ["MaxNodes=UNLIMITED TotalNodes=5", ""])
def test_a_limit_stays_if_the_scheduler_has_none(
    asked: Path, unlimited: str, tmp_path: Path
) -> None:
    limit = tmp_path / "mine.yaml"
    limit.write_text(
        "name: mine\nextends: lumi-g\nrequest:\n  partitions:\n    standard-g:\n"
        "      nodes: 4\n      time: 1-00:00:00\n      why: w\n      source: s\n      date: 2026-11-22\n"
    )
    partition = f"PartitionName=standard-g MaxTime=UNLIMITED State=UP {unlimited}"
    script = asked.parent / "programs/scontrol"
    script.write_text(script.read_text().replace(PARTITIONS, f"{partition}\n"))
    words = ["--profile", "./mine.yaml", "--partition", "standard-g"]
    for more in (("--nodes", "6"), ("--nodes", "1", "--time", "2-00:00:00")):
        done = job(*words, *more)
        assert done.code == 2, done.err
        assert "is more than" in done.err or "at most" in done.err


def test_lint_refuses_a_partition_that_the_scheduler_does_not_list(
    asked: Path, tmp_path: Path
) -> None:
    script = tmp_path / "job.sh"
    script.write_text(
        "#!/bin/bash\n#SBATCH --account=project_465000001 --partition=nothing-g\n"
        "#SBATCH --gpus-per-node=8 --time=1:00:00\nsrun python train.py\n"
    )
    done = envcfg("lint", "--profile", "lumi-g", "--select", "EC628", str(script))
    assert done.code == 1
    assert "has no partition nothing-g" in done.text
    assert "scontrol" in asked.read_text()


def test_lint_calls_an_old_limit_a_note(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "job.sh"
    script.write_text(
        "#!/bin/bash\n#SBATCH --account=project_465000001 --partition=dev-g\n"
        "#SBATCH --nodes=1 --gpus-per-node=8 --time=5:00:00\nsrun ./a.out\n"
    )
    lint = ("lint", "--profile", "lumi-g", "--select", "EC628", str(script))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(TODAY - 720 * DAY))
    assert envcfg(*lint).code == 1
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(LATER))
    assert envcfg(*lint).code == 0


def test_a_closed_list_that_is_old_refuses_no_name(
    built_in: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = built_in.load("lumi-g")._replace(closed=("partitions",))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(TODAY - 720 * DAY))
    assert as_of_today(profile).closed == ("partitions",)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(LATER))
    assert not as_of_today(profile).closed


def test_what_the_scheduler_says_wins(asked: Path) -> None:
    refused = job("--partition", "standard-g", "--nodes", "9", "--time", "25:00:00")
    assert refused.code == 2
    assert "partition standard-g gives a job 8 at most" in refused.err
    assert "is more than partition standard-g gives: 1-00:00:00" in refused.err
    unknown = job("--partition", "small-g", "--nodes", "1", "--time", "10")
    assert "has no partition small-g" in unknown.err
    other = job("--partition", "night-g", "--nodes", "4", "--time", "10")
    assert "partition night-g gives a job 3 at most" in other.err
    assert job("--partition", "night-g", "--nodes", "3", "--time", "10").code == 0
    shown = envcfg("profiles", "show", "lumi-g").text
    assert "scontrol show partition on lumi" in shown
    assert sorted(asked.read_text().split()) == [*["sacctmgr"] * 2, *["scontrol"] * 2]


def test_the_answer_is_gone_after_a_day(
    asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = ("--partition", "standard-g", "--nodes", "9", "--time", "10")
    assert job(*asking).code == 2
    (asked.parent / "programs/config").write_text(CONFIG.format("another"))
    assert job(*asking).code == 2
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(TODAY + DAY))
    assert job(*asking).code == 0
    assert asked.read_text().count("sacctmgr") == 4


@pytest.mark.parametrize("command", ["wrap", "in a job", "another cluster", "no Slurm"])
def test_nobody_else_asks_or_counts(
    command: str, asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = ("--partition", "standard-g", "--nodes", "9", "--time", "10")
    if command == "wrap":
        assert envcfg("wrap", *LUMI[1:5], "--", "./a.out").code == 0
        assert not asked.exists()
        return
    if command == "in a job":
        monkeypatch.setenv("SLURM_JOB_ID", "1")
    elif command == "another cluster":
        (asked.parent / "programs/config").write_text(CONFIG.format("mahti"))
    else:
        (asked.parent / "programs/scontrol").unlink()
    assert job(*asking).code == 0
    assert asked.exists() is (command not in {"in a job"})


def test_readers_of_queues() -> None:
    pbs = "Queue: debug\n    queue_type = Execution\n    resources_max.nodect = 2\n    resources_max.walltime = 01:00:00\n\nQueue: route\n    queue_type = Route\n"
    flux = "pdebug|3600.0|4\npbatch|inf|inf\n"
    found = {name: [*READERS[name](text)] for name, text in (("pbs", pbs), ("flux", flux), ("slurm", PARTITIONS))}  # fmt: skip
    assert [(e.name, e.nodes, e.time) for each in found.values() for e in each] == [
        ("debug", 2, "01:00:00"),
        ("route", None, None),
        ("pdebug", 4, "1:00:00"),
        ("pbatch", None, None),
        ("standard-g", 16, None),
        ("night-g", 3, "12:00:00"),
        ("dev-g", None, "03:00:00"),
    ]
    assert [(e.name, e.nodes, e.gpus, e.time) for e in read_qos(QOS)] == [
        ("normal", None, None, None),
        ("big", 8, 64, "1-00:00:00"),
    ]


OWN = "lumi|project_465000001|normal,big\nlumi|Project_2|debug\nother|elsewhere|big\n"


@pytest.mark.parametrize(
    ("enforced", "words", "says"),
    [
        ("associations", "--account project_465000009", "account project_465000009"),
        ("associations,qos", "--qos debug", "QOS debug"),
        ("associations", "--qos debug", None),
        ("none", "--account project_465000009", None),
        ("associations,limits,qos", "--qos big", None),
    ],
)
def test_an_account_or_qos_of_others_is_refused(
    asked: Path, enforced: str, words: str, says: str | None
) -> None:
    programs = asked.parent / "programs"
    (programs / "own").write_text(OWN)
    config = f"{CONFIG.format('lumi')}AccountingStorageEnforce = {enforced}\n"
    (programs / "config").write_text(config)
    done = job("--partition", "night-g", "--nodes", "1", "--time", "10", *words.split())
    assert done.code == (2 if says else 0), done.err
    if says:
        assert f"you may not use {says}" in done.err
        assert "give one of yours: " in done.err


def test_associations_are_those_of_the_cluster() -> None:
    config = "AccountingStorageEnforce = associations,qos\n"
    found = read_associations(f"{OWN}broken\nlumi|project_2|extra\n", config, "lumi")
    assert found == {
        "project_465000001": ["normal", "big"],
        "project_2": ["debug", "extra"],
    }
    assert read_associations(OWN, "AccountingStorageEnforce = none\n", "lumi") == {}
    assert read_associations("", config, "lumi") == {}

"""``envcfg jobs``: rows, store, accounting, formats, and hostile input."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Timer

import pytest

from envcfg.core.many_jobs import read_logs
from envcfg.jobs import workers
from envcfg.jobs.attempts import attempt_texts, read_attempts
from envcfg.jobs.job_record import JobRecord
from envcfg.jobs.selection import sql_condition
from envcfg.jobs.store import Store
from envcfg.log.read.rulebook import Rulebook
from envcfg.log.verdict import JobAttempt, LogReport
from envcfg.report.jobs.jobs_html import jobs_html
from schemas import errors
from support import envcfg, wait_until

DIED = """\
Traceback (most recent call last):
  File "/home/{user}/train.py", line 33, in <module>
    main()
ValueError: corrupt shard {shard}
srun: error: nid00{node}: task 0: Exited with exit code 1
"""
DONE = "step 1 loss 2.0\nstep 2 loss 1.9\n"
XID = "nid001: NVRM: Xid (PCI:0000:c1:00): 79, pid=1, GPU has fallen off the bus.\n"
HEAD = "JobID|JobIDRaw|Cluster|User|Account|Partition|JobName|State|ExitCode|Start|End|ElapsedRaw|NNodes|AllocTRES|NodeList\n"


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the machine's own accounting away."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    return tmp_path


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    (folder / "deep/er").mkdir(parents=True)
    for at in range(3):
        (folder / f"slurm-10{at}.out").write_text(
            DIED.format(user="u", shard=at * 7, node=at)
        )
    (folder / "deep/er/slurm-200.out").write_text(DONE)
    (folder / "train.py").write_text("print()\n")
    return folder


def rows_of(*arguments: str | Path) -> list[dict[str, object]]:
    done = envcfg("jobs", "--format", "ndjson", *map(str, arguments))
    return [json.loads(line) for line in done.text.splitlines()]


def test_jobs_with_the_same_cause_are_together_and_the_worst_come_first(
    logs: Path,
) -> None:
    done = envcfg("jobs", str(logs))
    lines = done.text.splitlines()
    assert lines[0] == "3 jobs broken: ValueError: corrupt shard N (train.py:33)"
    assert [line.split()[0] for line in lines[2:5]] == ["100", "101", "102"]
    assert done.code == 0
    assert "4 logs; 1 other file left out" in done.err


def test_a_verdict_is_that_of_check_log(logs: Path) -> None:
    for row in rows_of(logs):
        (name,) = row["files"]  # type: ignore[misc]
        alone = json.loads(envcfg("check-log", "--json", str(name)).text)
        assert row["verdict"] == alone["verdict"]
        assert row["next"] == alone["next"]["action"]


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ("verdict=broken", {"100", "101", "102"}),
        ("verdict=broken and id != 100", {"101", "102"}),
        ("cause ~ 'SHARD 14'", {"102"}),
        ("user=me and id=200", {"200"}),
        ("nodes>1", set()),
        ("file ~ deep/er", {"200"}),
        ("verdict='x' or 1=1", None),
        ("verdict=ok and", None),
        ("colour=red", None),
        ("nodes=many", None),
        ("", None),
        ("verdict=broken; DROP TABLE jobs", None),
    ],
)
def test_where_selects_jobs_by_their_fields(
    logs: Path, where: str, ids: set[str] | None
) -> None:
    done = envcfg("jobs", str(logs), "--where", where, "--ids")
    if ids is None and where:
        assert (done.code, done.text) == (2, "")
        assert "--where" in done.err
    elif where:
        assert set(done.text.split()) == ids


def test_a_value_of_a_condition_is_bound_and_never_sql() -> None:
    sql, values = sql_condition("user='x\" OR 1=1 --' and name~'%'")
    assert (sql.count("?"), values) == (2, ['x" OR 1=1 --', "%"])


def test_each_format_has_all_jobs(logs: Path) -> None:
    table = [
        *csv.DictReader(io.StringIO(envcfg("jobs", "--format", "csv", str(logs)).text))
    ]
    whole = json.loads(envcfg("jobs", "--format", "json", str(logs)).text)["jobs"]
    lines = rows_of(logs)
    assert (
        [row["id"] for row in table]
        == [row["id"] for row in whole]
        == [row["id"] for row in lines]
    )
    for words in ([], ["--by", "week"], ["--where", "id=none"]):
        text = envcfg("jobs", "--format", "json", *words, str(logs)).text
        assert errors("jobs", text) == []
    metrics = envcfg("jobs", "--format", "openmetrics", str(logs)).text
    assert 'envcfg_jobs{verdict="broken",class="program",partition=""} 3\n' in metrics
    assert metrics.endswith("# EOF\n")


def accounting(path: Path, *rows: str) -> str:
    file = path / "sacct.txt"
    file.write_text(HEAD + "".join(f"{row}\n" for row in rows))
    return str(file)


def test_the_scheduler_adds_state_and_gpu_hours_and_disagreement_is_shown(
    logs: Path,
) -> None:
    name = accounting(
        logs.parent,
        "100|100|c1|ann|acc|gpu|train|COMPLETED|0:0|2026-11-02T00:00:00|2026-11-02T02:00:00|7200|2|gres/gpu=8,node=2|nid[001-002]",
        "100.0|100.0|c1|ann|acc|gpu|step|FAILED|1:0|||1|2||",
        "101|101|c1|bob|acc|gpu|train|FAILED|1:0|2026-11-02T00:00:00|2026-11-02T01:00:00|3600|1|gres/gpu:a100=4,gres/gpu=4|nid003",
        "101|101|c1|bob|acc|gpu|train|NODE_FAIL|0:0|2026-11-01T00:00:00|2026-11-01T01:00:00|3600|1|gres/gpu=4|nid009",
        "200|200|c1|cy|acc|cpu|eval|TIMEOUT|0:0|2026-11-02T00:00:00|2026-11-02T01:00:00|3600|1|cpu=4|nid001",
    )  # fmt: skip
    jobs = {row["id"]: row for row in rows_of(logs, "--accounting", name)}
    first, second, last = jobs["100"], jobs["101"], jobs["200"]
    assert (first["user"], first["gpus"], first["gpu_hours"], first["lost_hours"]) == (
        "ann",
        8,
        16,
        16,
    )
    assert (first["week"], first["node_names"]) == ("2026-W45", ["nid001", "nid002"])
    assert (first["verdict"], "reports COMPLETED" in str(first["notes"])) == (
        "broken",
        True,
    )
    # A requeued job: the last attempt, and the hours of all.
    assert (second["state"], second["attempts"], second["gpu_hours"]) == (
        "FAILED",
        2,
        8,
    )
    # A job that the scheduler reports as failed is never ok.
    assert (last["state"], last["verdict"], last["gpu_hours"]) == (
        "TIMEOUT",
        "inconclusive",
        0,
    )
    assert "TIMEOUT" in str(last["cause"])
    assert jobs["102"]["gpu_hours"] is None


def test_a_job_that_only_the_accounting_knows_is_a_row_until_its_log_comes(
    logs: Path, path: Path
) -> None:
    row = "{}|{}|c1|ann|acc|gpu|train|{}|1:0||2026-11-02T01:00:00|3600|1|gres/gpu=4|n{}"
    rows = [
        (100, 100, "FAILED", 1),
        (300, 300, "NODE_FAIL", 2),
        ("300.0", "300.0", "FAILED", 2),
    ]
    rows += [("400_7", 407, "COMPLETED", 3), (500, 500, "FAILED", 4)]
    name = accounting(path, *(row.format(*words) for words in rows))
    words = ("--accounting", name, "--store", path / "jobs.db")
    jobs = {row["id"]: row for row in rows_of(logs, *words)}
    assert jobs.keys() == {"100", "101", "102", "200", "300", "400_7", "500"}
    shown = [(jobs[id_]["verdict"], jobs[id_]["cause"]) for id_ in ("300", "400_7")]
    assert shown == [
        ("inconclusive", "NODE_FAIL, no log found"),
        ("inconclusive", "no log found"),
    ]
    assert (jobs["300"]["class"], jobs["300"]["lost_hours"]) == ("node", 4)
    assert (jobs["400_7"]["array"], jobs["400_7"]["raw_id"]) == ("400", "407")
    # A part does not know the logs of the others.
    assert len(rows_of(logs, "--accounting", name, "--part", "1/1")) == 7
    parts = [
        row["id"]
        for part in ("1/2", "2/2")
        for row in rows_of(logs, "--accounting", name, "--part", part)
    ]
    assert sorted(map(str, parts)) == ["100", "101", "102", "200"]
    (logs / "slurm-300.out").write_text(XID)
    (logs / "slurm-400_7.out").write_text(DONE)
    later = rows_of(logs, *words)
    assert len(later) == 7
    assert [row["id"] for row in later if not row["files"]] == ["500"]


@pytest.mark.parametrize(
    "row", ["100", "100|", "100|||", "100|100|c|u|a|p|n| |", "100|x|c|u|a|p|n|FAILED|1|\x00|99-99|-1|n|gres/gpu=x|n[9"]
)  # fmt: skip
def test_a_row_without_its_columns_does_no_harm(logs: Path, row: str) -> None:
    jobs = rows_of(logs, "--accounting", accounting(logs.parent, row))
    assert [job["id"] for job in jobs if job["verdict"] == "broken"] == [
        "100",
        "101",
        "102",
    ]


def test_a_log_that_shrinks_while_it_is_read_is_read_again(
    logs: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, usual = Store(str(path / "jobs.db")), workers.check_files

    def check(files: list[str], rulebook: Rulebook) -> LogReport:
        os.truncate(files[0], 5)
        return usual(files, rulebook)

    with monkeypatch.context() as patch:
        patch.setattr(workers, "check_files", check)
        assert read_logs(store, [str(logs / "slurm-100.out")]).read == 1
    assert read_logs(store, [str(logs / "slurm-100.out")]).read == 1
    assert [job.verdict for job in store.records()] == ["inconclusive"]


def test_a_number_of_two_clusters_is_no_evidence(logs: Path) -> None:
    row = "100|100|{}|ann|a|p|train|COMPLETED|0:0|||60|1|gres/gpu=1|n1"
    name = accounting(logs.parent, row.format("c1"), row.format("c2"))
    jobs = {row["id"]: row for row in rows_of(logs, "--accounting", name)}
    assert jobs["100"]["state"] == ""
    assert "cluster c1, c2" in str(jobs["100"]["notes"])
    (logs / "slurm-100.out").write_text("SLURM_CLUSTER_NAME=c2\n" + DONE)
    jobs = {row["id"]: row for row in rows_of(logs, "--accounting", name)}
    assert (jobs["100"]["state"], jobs["100"]["cluster"]) == ("COMPLETED", "c2")


def test_a_small_number_in_a_name_is_an_id_only_if_the_scheduler_has_such_a_job(
    path: Path,
) -> None:
    folder = path / "logs"
    folder.mkdir()
    for name in ("train-7.out", "seed-8.out", "train9-9.out"):
        (folder / name).write_text(DONE)
    row = "{0}|{0}|c|ann|a|p|{1}|COMPLETED|0:0|||60|1|gres/gpu=1|n1"
    rows = [row.format(*words) for words in ((7, "train"), (8, "other"), (9, "train9"))]
    name = accounting(path, *rows)
    ids = {str(row["name"]): row["id"] for row in rows_of(folder, "--accounting", name)}
    assert ids == {"train": "7", "train9": "9", "seed-8.out": "", "other": "8"}


def test_the_scheduler_is_asked_for_jobs_whose_end_is_unknown(
    logs: Path, path: Path
) -> None:
    script = path / "bin/sacct"
    row = "100|100|c1|ann|a|gpu|train|FAILED|1:0|||3600|1|gres/gpu=4|n1"
    script.write_text(
        f"#!/bin/sh\necho \"$*\" >>{path}/asked\nprintf '{HEAD.strip()}\\n{row}\\n'\n"
    )
    script.chmod(0o755)
    store = str(path / "jobs.db")
    for _ in range(2):
        assert (
            envcfg("jobs", str(logs), "--store", store, "--where", "id=100").code == 0
        )
    first, second = (path / "asked").read_text().splitlines()
    assert {"--jobs=100,101,102,200", "--duplicates"} <= set(first.split())
    assert "--jobs=101,102,200" in second


def test_a_second_run_reads_new_and_changed_logs_only(logs: Path, path: Path) -> None:
    store = Store(str(path / "jobs.db"))
    assert read_logs(store, [str(logs)]).read == 4
    assert stat.S_IMODE(os.stat(store.path).st_mode) == 0o600
    (logs / "slurm-200.out").write_text(DIED.format(user="u", shard=1, node=1))
    (logs / "deep/er/slurm-200.out").write_text(
        DONE + DIED.format(user="u", shard=1, node=1)
    )
    assert read_logs(store, [str(logs)]).read == 2
    assert read_logs(store, [str(logs)]).read == 0
    store.close()
    done = envcfg("jobs", "--store", store.path, "--where", "verdict=broken", "--ids")
    assert sorted(done.text.split()) == ["100", "101", "102", "200", "200"]


def test_files_that_become_one_job_are_one_row(path: Path) -> None:
    store, folder = Store(str(path / "jobs.db")), path / "logs"
    folder.mkdir()
    (folder / "a.log").write_text(DONE)
    (folder / "b.log").write_text(DONE)
    read_logs(store, [str(folder)])
    assert len([*store.records()]) == 2
    for name in "ab":
        (folder / f"{name}.log").write_text("SLURM_JOB_ID=77\n" + DONE)
    read_logs(store, [str(folder)])
    assert [(job.id, len(job.files)) for job in store.records()] == [("77", 2)]


def test_parts_make_the_same_store_as_one_run(logs: Path, path: Path) -> None:
    whole = rows_of(logs)
    names = []
    for part in range(1, 4):
        done = envcfg("jobs", str(logs), "--part", f"{part}/3")
        (path / f"{part}.ndjson").write_text(done.text)
        names.append(path / f"{part}.ndjson")
    store = path / "jobs.db"
    assert rows_of(*names, "--store", store) == whole
    assert read_logs(Store(str(store)), [str(logs)]).read == 0
    for text in ("[1]\n", '{"key": 3}\n', "{", '{"key": "a"}\n'):
        names[0].write_text(text)
        done = envcfg("jobs", str(names[0]), "--store", str(store))
        assert (done.code, "1.ndjson, line 1: no output of" in done.err) == (4, True)


@pytest.mark.parametrize("value", ["0/2", "3/2", "1", "a/b", "1/2/3", "-1/2"])
def test_a_wrong_part_is_refused(logs: Path, value: str) -> None:
    assert envcfg("jobs", str(logs), f"--part={value}").code == 2


def damage(store: Path) -> None:
    store.write_bytes(store.read_bytes()[:100] + b"x" * 5000)


def change_version(store: Path) -> None:
    base = sqlite3.connect(store)
    base.execute("PRAGMA user_version = 99")
    base.close()


def make_foreign(store: Path) -> None:
    store.unlink()
    base = sqlite3.connect(store)
    base.execute("CREATE TABLE mine (x)")
    base.close()


def make_text(store: Path) -> None:
    store.write_text("a list of mine\n" * 100)


def make_folder(store: Path) -> None:
    store.unlink()
    store.mkdir()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (damage, "is damaged, or no store"),
        (change_version, "has version 99"),
        (make_foreign, "is no store of envcfg jobs"),
        (make_text, "is damaged, or no store"),
        (make_folder, "is not a regular file"),
    ],
)
def test_a_store_that_cannot_be_used_is_an_error_with_its_remedy(
    logs: Path, path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    store = path / "jobs.db"
    assert envcfg("jobs", str(logs), "--store", str(store)).code == 0
    spoil(store)
    done = envcfg("jobs", "--store", str(store))
    assert (done.code, done.text) == (4, "")
    assert message in done.err
    assert "hint:" in done.err


def test_a_store_in_use_is_waited_for_and_then_an_error(
    logs: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = str(path / "jobs.db")
    assert envcfg("jobs", str(logs), "--store", store).code == 0
    base = sqlite3.connect(store, isolation_level=None, check_same_thread=False)
    base.execute("BEGIN EXCLUSIVE")
    with monkeypatch.context() as patch:
        patch.setattr("envcfg.jobs.store._WAIT", 0)
        done = envcfg("jobs", str(logs), "--store", store)
    assert (done.code, "is in use by another command" in done.err) == (4, True)
    end = Timer(0.1, base.execute, ["ROLLBACK"])
    end.start()
    assert envcfg("jobs", "--store", store).code == 0
    end.join()
    base.close()


def test_a_kill_in_the_middle_loses_only_the_last_batch(path: Path) -> None:
    folder, store = path / "logs", path / "jobs.db"
    folder.mkdir()
    for at in range(600):
        (folder / f"slurm-{at + 1000}.out").write_text(DONE)
    # The process kills itself in the middle of the second batch.
    code = (
        "import os, sys\n"
        "from envcfg.core.many_jobs import read_logs\n"
        "from envcfg.jobs.store import Store\n"
        "store, puts = Store(sys.argv[1]), []\n"
        "execute = store._base.execute\n"
        "class Base:\n"
        "    def __getattr__(self, name): return getattr(base, name)\n"
        "    def execute(self, sql, *rest):\n"
        "        puts.append(sql)\n"
        "        if puts.count('COMMIT') == 3: os.kill(os.getpid(), 9)\n"
        "        return execute(sql, *rest)\n"
        "base, store._base = store._base, Base()\n"
        "read_logs(store, [sys.argv[2]])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(store), str(folder)], check=False
    )
    assert done.returncode == -signal.SIGKILL
    kept = Store(str(store))
    ((many,),) = kept.query("SELECT count(*) FROM jobs")
    assert 0 < many < 600
    read_logs(kept, [str(folder)])
    assert kept.query(
        'SELECT count(*), count(DISTINCT job) FROM jobs, files WHERE job = "key"'
    ) == [(600, 600)]


def test_no_process_survives_a_kill(path: Path) -> None:
    folder = path / "logs"
    folder.mkdir()
    for at in range(64):
        (folder / f"slurm-{at + 1000}.out").write_text(DONE)
    # Each process judges its first log until envcfg itself is gone.
    code = (
        "import os, sys, time\n"
        "from envcfg.core.many_jobs import read_logs\n"
        "from envcfg.jobs import workers\n"
        "from envcfg.jobs.store import Store\n"
        "parent = os.getpid()\n"
        "def check(*_):\n"
        "    while os.getppid() == parent: time.sleep(0.05)\n"
        "    raise OSError\n"
        "workers.check_files = check\n"
        "os.sched_getaffinity = lambda _: {0, 1}\n"
        "read_logs(Store(), [sys.argv[1]])\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, folder], start_new_session=True
    )

    def session() -> list[int]:
        pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
        return [pid for pid in pids if session_of(pid) == child.pid]

    wait_until("two workers run", lambda: len(session()) == 3)
    child.kill()
    child.wait()
    wait_until("all processes ended", lambda: not session())


def session_of(pid: int) -> int:
    """Return the session of a process; 0 if it has ended, also if nobody has noticed."""
    try:
        state, _, _, session = (
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:4]
        )
    except (OSError, ValueError):
        return 0
    return 0 if state == "Z" else int(session)


def test_a_log_that_ends_its_process_is_named_and_the_others_are_judged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = path / "logs"
    folder.mkdir()
    for at in range(60):
        (folder / f"slurm-{at + 1000}.out").write_text(DONE)
    usual = workers.check_files

    def check(files: list[str], rulebook: Rulebook) -> LogReport:
        if files[0].endswith(("slurm-1007.out", "slurm-1030.out")):
            os._exit(9)
        return usual(files, rulebook)

    monkeypatch.setattr(workers, "check_files", check)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    rows = {row["id"]: str(row["notes"]) for row in rows_of(folder)}
    assert len(rows) == 60
    named = {id_ for id_, notes in rows.items() if "ended the process" in notes}
    assert named == {"1007", "1030"}


def test_names_links_and_devices_do_no_harm(path: Path) -> None:
    folder = path / "logs"
    (folder / "sub").mkdir(parents=True)
    (folder / "a\n\x1b[31mred.log").write_text(DONE)
    os.symlink("..", folder / "sub/loop")
    os.symlink("/dev/zero", folder / "zero.log")
    os.symlink("absent", folder / "gone.log")
    os.mkfifo(folder / "pipe.log")
    Path(os.fsencode(folder).decode() + "/\udcff.log").write_text(DONE)
    (folder / "empty.log").write_text("")
    (folder / "model.log").write_bytes(bytes(range(1, 9)) * 1000)
    os.link(folder / "empty.log", folder / "same.log")
    (folder / "hole.log").write_text(DONE)
    os.truncate(folder / "hole.log", 1 << 40)
    done = envcfg("jobs", str(folder), "--store", str(path / "jobs.db"))
    assert done.code == 3
    assert "gone.log: No such file or directory" in done.err
    assert "hole.log: 1,099,511,627,776 bytes, mostly holes" in done.err
    assert "\x1b" not in done.text + done.err
    assert "3 logs; 3 other files left out" in done.err
    assert "\\nenvcfg" not in done.text
    assert len(rows_of("--store", path / "jobs.db")) == 3


def test_a_job_with_an_unreadable_file_is_inconclusive(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = path / "logs"
    folder.mkdir()
    (folder / "a.out").write_text(DONE)
    (folder / "a.err").write_text(DONE)
    usual = os.access
    monkeypatch.setattr(
        os,
        "access",
        lambda name, mode: not str(name).endswith(".err") and usual(name, mode),
    )
    (row,) = rows_of(folder)
    assert row["verdict"] == "inconclusive"
    assert "a.err: cannot be read" in str(row["notes"])


def test_secrets_are_masked_in_what_is_stored(path: Path) -> None:
    folder = path / "logs"
    folder.mkdir()
    text = DIED.format(user="u", shard=1, node=1).replace(
        "corrupt", "HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz012345 at"
    )
    (folder / "slurm-1.out").write_text(text)
    store = path / "jobs.db"
    assert envcfg("jobs", str(folder), "--store", str(store)).code == 0
    assert b"hf_abcdef" not in store.read_bytes()


def test_nodes_that_kill_jobs_are_named_and_listed(path: Path) -> None:
    folder = path / "logs"
    folder.mkdir()
    rows = []
    for at in range(60):
        node, user = f"nid{at % 20:03}", f"u{at % 3}"
        if node == "nid007":
            (folder / f"slurm-{1000 + at}.out").write_text(XID.replace("nid001", node))
        else:
            (folder / f"slurm-{1000 + at}.out").write_text(DONE)
        day = 1 + at // 3
        rows.append(
            f"{1000 + at}|{1000 + at}|c|{user}|a|p|t|FAILED|1:0||2026-11-{day:02}T01:00:00|3600|1|gres/gpu=4|{node}"
        )
    store = str(path / "jobs.db")
    envcfg(
        "jobs", str(folder), "--store", store, "--accounting", accounting(path, *rows)
    )
    done = envcfg("jobs", "--store", store, "--by", "node")
    done = envcfg("jobs", "--store", store, "--by", "node", "--where", "id>100")
    assert "1 node on which jobs fail more often than chance explains" in done.text
    listed = envcfg("jobs", "--store", store, "--format", "bad-nodes").text.splitlines()
    assert [line.split()[0] for line in listed[1:]] == ["nid007"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no folder or log given"),
        (["absent"], "no such file or folder"),
        (["--store", "absent.db"], "no such store"),
        ([""], "empty"),
        ([".", "--accounting", "absent"], "absent: No such file"),
        ([".", "--accounting", "/dev/null"], "does not name the columns"),
    ],
)
def test_a_wrong_line_is_refused_with_a_hint(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = envcfg("jobs", *words)
    assert done.code in (2, 4)
    assert message in done.err
    assert "hint:" in done.err


def test_the_page_stands_alone_and_has_all_jobs(logs: Path, path: Path) -> None:
    page = path / "jobs.html"
    (logs / "slurm-300.out").write_text(
        DIED.format(user="u", shard="</td><script>alert(1)</script>", node=1)
    )
    done = envcfg("jobs", str(logs), "--html", str(page))
    text = page.read_text()
    assert "3 jobs broken" in done.text
    assert text.count("<tr><td>") >= 5
    assert "<script>alert" not in text
    assert not re.search(r"(?:src|href)=\"(?!data:)", text)
    assert envcfg("jobs", str(logs), "--html", str(page)).code == 0
    page.write_text("mine")
    done = envcfg("jobs", str(logs), "--html", str(page))
    assert (done.code, page.read_text()) == (4, "mine")


def test_ten_thousand_jobs_make_a_page_of_at_most_5_mb() -> None:
    store = Store()
    store.put(
        [
            JobRecord(
                key=str(at), id=f"{1000000 + at}", user=f"user{at % 90}", name="train" * 4,
                verdict="broken", cause="ValueError: corrupt shard " * 9, title="t",
                fingerprint=f"f{at % 70}", next="restart without nid001001", state="FAILED",
                network="AWS Libfabric", nodes=4, gpu_hours=12.5, lost_hours=12.5,
                ended="2026-11-02T00:00:00", week="2026-W45",
            )
            for at in range(10_000)
        ]
    )  # fmt: skip
    assert len(jobs_html(store).encode()) <= 5_000_000


def test_no_name_is_in_an_anonymous_answer(logs: Path, path: Path) -> None:
    name = accounting(
        path, "100|100|c|annabel|acct7|gpu|secretmodel|FAILED|1:0|||60|1|gres/gpu=1|n1"
    )
    (logs / "slurm-102.out").write_text(
        "OSError: [Errno 2] No such file: '/home/annabel/x'\n" * 2
    )
    store = path / "jobs.db"
    words = [
        "jobs",
        str(logs),
        "--store",
        str(store),
        "--accounting",
        name,
        "--anonymous",
    ]
    texts = [
        envcfg(*words, "--format", form).text
        for form in ("text", "json", "csv", "ndjson")
    ]
    texts += [envcfg(*words, "--by", "user").text, envcfg(*words, "--html", "-").text]
    for text in texts:
        assert text
        assert not re.search("annabel|acct7|secretmodel|train.py|shard|/logs/", text)
    assert stat.S_IMODE(os.stat(f"{store}.key").st_mode) == 0o600
    again = envcfg(*words, "--format", "csv").text
    assert again == texts[2]
    other = envcfg(
        "jobs", str(logs), "--accounting", name, "--anonymous", "--format", "csv"
    ).text
    assert other != again


def test_check_log_shows_how_often_a_cause_occurred_before(
    logs: Path, path: Path
) -> None:
    store = str(path / "jobs.db")
    assert envcfg("jobs", str(logs), "--store", store).code == 0
    done = envcfg("check-log", "--store", store, str(logs / "slurm-100.out"))
    assert "same cause: 3 jobs of the store, 20" in done.err
    done = envcfg(
        "check-log", "--store", str(path / "absent"), str(logs / "slurm-100.out")
    )
    assert (done.code, "no such store" in done.err) == (4, True)
    rows = [
        f"{at}|{at}|c|ann|a|p|train|{state}|0:0||2026-11-0{day}T00:00:00|60|1|gres/gpu=1|n1"
        for at, day, state in ((100, 1, "FAILED"), (200, 2, "COMPLETED"))
    ]
    envcfg("jobs", "--store", store, "--accounting", accounting(path, *rows))
    assert "next success: job 200" in envcfg("jobs", "--store", store).text


LINK = (
    "nid00{}:1:1 [0] transport/net_ib.cc:1309 NCCL WARN NET/IB : Got completion from peer "
    "10.0.0.2<40001> with status=12 opcode=0 len=0 vendor err 129\n"
    "srun: error: nid00{}: task 0: Exited with exit code 1\n"
)


def test_check_log_compares_attempts_that_the_log_has_lost(path: Path) -> None:
    store, log = str(path / "jobs.db"), path / "slurm-4567890.out"

    def next_step() -> str:
        return envcfg("check-log", "--next", "--store", store, str(log)).text

    def write(step: int, node: int) -> None:
        new = path / "new"
        new.write_text(f"step {step}/900 loss 1.5\n{LINK.format(node, node)}")
        new.replace(log)

    def keep() -> None:
        assert envcfg("jobs", str(log), "--store", store).code == 0

    write(20, 1)
    keep()
    assert next_step().startswith("restart")
    write(20, 2)
    assert next_step().startswith(
        "fix first: attempts 1 and 2 ended the same way, without a new step"
    )
    for _ in range(2):
        keep()
        assert next_step().startswith("fix first: attempts 1 and 2 ended the same way")
    write(20, 1)
    assert next_step().startswith("fix first: attempts 1, 2 and 3 ended the same way")
    write(60, 1)
    assert next_step().startswith("restart")
    pipe = envcfg("check-log", "--next", "--store", store, "-", stdin=log.read_bytes())
    assert pipe.text.startswith("restart")
    # Another job of the same folder has no attempts.
    other = path / "slurm-4567891.out"
    log.rename(other)
    log = other
    assert next_step().startswith("restart")


def test_attempts_in_a_log_that_grows_count_once(path: Path) -> None:
    store, log = str(path / "jobs.db"), path / "slurm-4567890.out"
    text = f"step 20/900 loss 1.5\n{LINK.format(1, 1)}"
    log.write_text(text)
    assert envcfg("jobs", str(log), "--store", store).code == 0
    with log.open("a") as file:
        file.write(
            "slurmstepd: error: *** JOB 4567890 ON nid001 CANCELLED AT 2026-11-02T10:00:00 DUE TO JOB REQUEUE ***\n"
        )
        file.write(text.replace("step 20", "step 40"))
    words = ("check-log", "--next", str(log))
    assert envcfg(*words, "--store", store).text == envcfg(*words).text


def test_attempts_of_another_version_or_with_wrong_values_are_left_out() -> None:
    good = JobAttempt("", "step 3", "", None, ("n1",), "r", "node", "m", "f")
    (text,) = attempt_texts([good, good._replace(fingerprint="")])
    wrong = (
        "",
        "[",
        "[1]",
        "{}",
        json.dumps(good._replace(last="step x")),
        json.dumps(good._replace(rule="s")),
    )
    assert [*read_attempts((*wrong, text), {"r"})] == [good]

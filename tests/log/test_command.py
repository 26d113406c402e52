"""``envcfg check-log`` as users run it: exit codes, messages, files that it writes."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from jobs import Job, iter_lines, text

from support import ROOT, Wrapped, envcfg

SCHEMA = json.loads((ROOT / "docs/findings.schema.json").read_text())

GOLDEN = Path(__file__).parent / "golden"
FALLEN = Job(dialect="rccl-2.22", fallen=frozenset({1}))


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Write a log into the current folder and return its name."""
    monkeypatch.chdir(tmp_path)

    def write(job: Job, name: str = "slurm-1.out") -> str:
        (tmp_path / name).write_text(text(job))
        return name

    return write


def run(*arguments: str) -> Wrapped:
    return envcfg("check-log", *arguments)


@pytest.mark.parametrize(
    ("job", "options", "code"),
    [
        (Job(), (), 0),
        (FALLEN, (), 1),
        (Job(errors={3: ("ofi-register-gpu",)}), (), 1),
        (Job(nodes=1), (), 3),
        (Job(nodes=1), ("--strict",), 1),
        (Job(), ("--strict",), 0),
        (Job(), ("--profile", "lumi-g"), 0),
        (FALLEN, ("--profile", "lumi-g"), 1),
        (FALLEN, ("--allow-socket",), 1),  # the others do not use it
        (Job(network="socket"), ("--allow-socket",), 0),
        (Job(network="socket"), ("--expect-network", "Socket"), 0),
        (Job(), ("--expect-network", "IB"), 1),
        (Job(), ("--expect-network", "aws libfabric", "--expect-provider", "cxi"), 0),
        (Job(), ("--expect-provider", "efa"), 1),
        (Job(dialect="nccl-2.24"), ("--expect-nics", "4"), 0),
        (Job(dialect="nccl-2.24", nics=3), ("--expect-nics", "4"), 1),
        (Job(), ("--expect-nics", "4"), 3),  # this plugin does not print it
        (Job(network="ib"), ("--expect-nics", "4"), 0),
        (Job(network="ib", nics=2), ("--expect-nics", "4"), 1),
        (Job(network="ib"), ("--expect-provider", "cxi"), 3),
        (Job(provider="tcp"), ("--expect-provider", "tcp"), 0),
        (Job(provider="tcp"), ("--allow-socket",), 0),
        (Job(provider="tcp"), (), 1),
        (Job(), ("--expect-ranks", "16"), 0),
        (Job(), ("--expect-ranks", "32"), 1),
        (Job(), ("--require-gdr",), 0),
        (Job(channels=0, dialect="nccl-2.21"), ("--require-gdr",), 3),
        (Job(channels=0, dialect="nccl-2.21"), (), 0),
        (Job(interface="eth"), ("--profile", "lumi-g"), 1),
    ],
)
def test_exit_code(
    log: Callable[..., str], job: Job, options: tuple[str, ...], code: int
) -> None:
    done = run(*options, log(job))
    assert done.code == code, done.text + done.err
    assert not done.err


@pytest.mark.parametrize("profile", ["alps-clariden", "lumi-g"])
@pytest.mark.parametrize(
    "dialect", ["nccl-2.21", "nccl-2.27", "nccl-2.30", "rccl-2.22"]
)
def test_the_stack_of_an_image_is_judged_by_what_it_says_and_not_by_the_sites(
    log: Callable[..., str], profile: str, dialect: str
) -> None:
    """An image that brings NCCL, plugin and libfabric is as good as what it shows."""
    own = Job(dialect=dialect)
    good = run("--profile", profile, log(own))
    said = "ok: all 16 ranks on 2 nodes use (AWS )?Libfabric over cxi, with GPU RDMA"
    assert re.match(said, good.text), good.text
    bad = run("--profile", profile, log(replace(own, network="socket")))
    assert bad.code == 1, bad.text
    # A hook of the site would lay the host's libraries over those of the image.
    assert "hook" not in bad.text
    assert "or use an image that has them" in " ".join(bad.text.split())


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "no log given"),
        (("",), 2, "the name of a log is empty"),
        (("slurm-1.ou",), 4, "did you mean slurm-1.out?"),
        (("--timeout", "5", "slurm-1.out"), 2, "--timeout belongs to --follow"),
        (("--on-bad", "true", "slurm-1.out"), 2, "--on-bad belongs to --follow"),
        (("--verify-after=5m", "x.out"), 2, "--verify-after belongs to --watch-step"),
        (("--on-silence=5m", "x.out"), 2, "--on-silence belongs to --watch-step"),
        (("--since=0", "--follow", "x.out"), 2, "--since belongs to --watch-step"),
        (("--follow", "-"), 2, "--follow reads files"),
        (
            ("--follow", "--timeout", "soon", "slurm-1.out"),
            2,
            "not a number of seconds",
        ),
        (("--expect-ranks", "0", "slurm-1.out"), 2, "number"),
        (("--profile", "lumi", "slurm-1.out"), 2, "lumi-g"),
        (
            ("--html", "no/such/page.html", "slurm-1.out"),
            4,
            "cannot write no/such/page.html",
        ),
        (("--jsn", "slurm-1.out"), 2, "--jsn"),
        (("--json", "--format", "json", "slurm-1.out"), 2, "both write to stdout"),
        (("--html", "-", "--format", "json", "slurm-1.out"), 2, "--format and --html"),
    ],
)
def test_wrong_use(
    log: Callable[..., str], arguments: tuple[str, ...], code: int, words: str
) -> None:
    log(Job())
    done = run(*arguments)
    assert done.code == code
    assert words in done.err
    assert "Traceback" not in done.err
    assert done.err.startswith("envcfg: error: ")


def test_file_that_may_not_be_read(log: Callable[..., str]) -> None:
    name = log(Job())
    if os.geteuid() == 0:
        os.mkfifo("pipe")  # root may read everything; a pipe is a file too
        threading.Thread(target=lambda: Path("pipe").write_text(text(Job()))).start()
        assert run("pipe").code == 0
    else:
        Path(name).chmod(0)
        assert run(name).code == 4


def test_standard_input(log: Callable[..., str]) -> None:
    with open(log(FALLEN), "rb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "envcfg", "check-log", "-"],
            stdin=file,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stdout.startswith("degraded: 8 of 16 ranks use TCP sockets on hsn0")
    assert "-:" in done.stdout  # file:line of a line of standard input


def test_a_reader_that_leaves(log: Callable[..., str]) -> None:
    command = f"{sys.executable} -m envcfg check-log {log(FALLEN)} | head -1"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("degraded:")
    assert not done.stderr


@pytest.mark.parametrize(
    ("name", "job"),
    [
        ("ok", Job(dialect="rccl-2.22")),
        ("fallen", FALLEN),
        ("one-node", Job(nodes=1, dialect="nccl-2.27")),
        (
            "broken",
            Job(
                dialect="nccl-2.24",
                errors={3: ("ofi-register-gpu",), 9: ("peer-closed",)},
            ),
        ),
        ("folded", Job(nodes=64, dialect="rccl-2.27", fallen=frozenset({1, 40}))),
        ("missing", Job(dialect="nccl-2.24", missing=frozenset(range(8, 16)))),
    ],
)
def test_text(
    log: Callable[..., str], request: pytest.FixtureRequest, name: str, job: Job
) -> None:
    """The whole report, as a tired person reads it: review it in the diff."""
    done = run(log(job))
    golden = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        GOLDEN.mkdir(exist_ok=True)
        golden.write_text(done.text)
    assert done.text == golden.read_text()
    lines = done.text.splitlines()
    assert len(lines[0]) <= 160
    assert "\x1b" not in done.text


def test_colours_on_a_terminal_only(log: Callable[..., str]) -> None:
    command = f"{sys.executable} -m envcfg check-log {log(FALLEN)}"
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "\x1b[" in done.stdout
    plain = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert "\x1b[3" not in plain.stdout


def test_a_page_beside_the_answer(log: Callable[..., str]) -> None:
    done = run("--json", "--html", "out.html", log(FALLEN))
    document = json.loads(done.text)
    assert document["verdict"] == "degraded"
    assert document["job"]["networks"] == {"AWS Libfabric": 8, "Socket": 8}
    assert document["findings"][0]["evidence"]["file"] == "slurm-1.out"
    assert document["summary"] in Path("out.html").read_text()


@pytest.mark.parametrize(
    ("job", "code", "severity"),
    [(Job(), 0, "note"), (FALLEN, 1, "error"), (Job(nodes=1), 3, "warning")],
)
def test_the_verdict_is_a_finding_in_every_form(
    log: Callable[..., str], job: Job, code: int, severity: str
) -> None:
    name = log(job)
    done = run("--format", "json", name)
    assert (done.code, done.err) == (code, "")
    document = json.loads(done.text)
    jsonschema.validate(document, SCHEMA)
    (checked,) = document["checked"]
    whole = json.loads(run("--json", name).text)
    verdict, *found = checked["findings"]
    assert (verdict["rule"], verdict["message"], verdict["severity"]) == (
        f"log-{whole['verdict']}",
        whole["summary"],
        severity,
    )
    assert [each for each in found if each["rule"] != "log-incomplete"] == (
        whole["findings"]
    )
    assert len(found) == len(whole["findings"]) + len(whole["unknowns"])
    github = run("--format", "github", name)
    lines = github.text.splitlines()
    assert (github.code, len(lines)) == (code, 1 + len(found))
    for line, each in zip(lines[1:], found, strict=True):
        at = each["evidence"]["line"] if each["evidence"] else 1
        assert f" file={name},line={at},col=1,title=envcfg {each['rule']}::" in line
    results = json.loads(run("--format", "sarif", name).text)["runs"][0]["results"]
    assert [each["ruleId"] for each in results][1:] == [each["rule"] for each in found]
    assert run("--format", "text", name).text == run(name).text
    suite = ET.fromstring(run("--format", "junit", name).text)  # noqa: S314  # our own
    assert len([*suite.iter("testcase")]) > len(found)


def test_findings_stand_at_the_file_that_shows_them(log: Callable[..., str]) -> None:
    Path("a.out").write_text("nothing\n")
    log(FALLEN, "b.out")
    checked = json.loads(run("--format", "json", "a.out", "b.out").text)["checked"]
    assert [each["name"] for each in checked] == ["a.out", "b.out"]
    assert [each["rule"] for each in checked[0]["findings"]] == ["log-degraded"]
    assert len(checked[1]["findings"]) > 1


def test_place_of_a_finding_is_the_line_that_shows_it(log: Callable[..., str]) -> None:
    name = log(FALLEN)
    lines = Path(name).read_text().splitlines()
    for finding in json.loads(run("--json", name).text)["findings"]:
        if finding["evidence"]:
            assert (
                lines[finding["evidence"]["line"] - 1].strip()
                == finding["evidence"]["text"]
            )


def test_cpu_masks_against_the_profile(log: Callable[..., str], tmp_path: Path) -> None:
    name = log(Job())
    masks = "fe000000000000 fe00000000000000 fe0000 fe000000 fe fe00 fe00000000 fe0000000000"
    for path, order in (("right", masks.split()), ("wrong", sorted(masks.split()))):
        said = [
            f"Rank {rank} --> pid {100 + rank}'s current affinity mask: {order[rank % 8]}"
            for rank in range(16)
        ]
        (tmp_path / path).write_text(Path(name).read_text() + "\n".join(said) + "\n")
    assert run("--profile", "lumi-g", "right").code == 0
    wrong = run("--profile", "lumi-g", "wrong")
    assert wrong.code == 1
    assert (
        "ranks run on other cores: rank 0 on 0xfe instead of 0xfe000000000000"
        in wrong.text
    )


DUMPS = Path(__file__).parents[1] / "trace" / "dumps"


class Growing:
    """A job that writes its log while the checker follows it."""

    def __init__(self, *options: str, name: str = "slurm-7.out") -> None:
        self.path = Path(name)
        self.checker = subprocess.Popen(
            [sys.executable, "-m", "envcfg", "check-log", "--follow", *options, name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def write(self, chunk: str) -> None:
        with self.path.open("a") as file:
            file.write(chunk)

    def wait(self) -> tuple[int, str, str]:
        out, err = self.checker.communicate(timeout=30)
        return self.checker.returncode, out, err


@pytest.mark.usefixtures("log")
def test_follow_acts_on_the_line_that_decides(tmp_path: Path) -> None:
    said = [line.text + "\n" for line in iter_lines(FALLEN)]
    first = next(
        number for number, line in enumerate(said) if "NET/Socket : Using" in line
    )
    job = Growing(
        "--timeout", "60", "--on-bad", 'echo "$ENVCFG_VERDICT: $ENVCFG_SUMMARY" > acted'
    )
    assert job.checker.stderr
    noted = job.checker.stderr.readline()
    assert noted == "envcfg: note: waiting for slurm-7.out, not there yet\n"
    job.write("".join(said[:first]))
    time.sleep(0.5)
    assert job.checker.poll() is None
    job.write(said[first][:20])
    time.sleep(0.5)
    assert job.checker.poll() is None
    job.write(said[first][20:])
    code, out, err = job.wait()
    assert code == 1
    assert err == ""
    assert "plugin not found on nid001002" in out
    assert (tmp_path / "acted").read_text().startswith("degraded: degraded: 1 of ")


@pytest.mark.usefixtures("log")
def test_follow_stops_at_ok() -> None:
    job = Growing("--timeout", "60", "--on-bad", "touch acted")
    job.write(text(Job()))
    code, out, _ = job.wait()
    assert (code, out.split(":")[0]) == (0, "ok")
    assert not Path("acted").exists()


@pytest.mark.usefixtures("log")
def test_follow_stops_at_ok_though_a_process_begins_behind_torn_text() -> None:
    """Ranks that share a file write into each other's lines."""
    log = text(Job())
    job = Growing("--timeout", "60", "--json")
    job.write(log.replace("\nnid001002:", "\nRCCL verHnid001002:", 1))
    code, out, _ = job.wait()
    assert code == 0
    assert json.loads(out)["job"]["nodes"] == ["nid001001", "nid001002"]


@pytest.mark.usefixtures("log")
def test_a_compressed_file_cannot_be_followed() -> None:
    Path("slurm-7.out").write_bytes(gzip.compress(text(Job()).encode()))
    code, out, err = Growing("--timeout", "5").wait()
    assert (code, out) == (2, "")
    assert "slurm-7.out: a compressed file cannot be followed" in err


@pytest.mark.usefixtures("log")
def test_follow_gives_what_it_has_at_the_end_of_its_time() -> None:
    job = Growing("--timeout", "2", "--on-bad", "touch acted")
    job.write(text(Job(nodes=1)))
    code, out, _ = job.wait()
    assert (code, out.split(":")[0]) == (3, "inconclusive")
    assert not Path("acted").exists()


@pytest.mark.usefixtures("log")
def test_follow_waits_for_all_ranks_of_the_job() -> None:
    """A part of the world that is whole in itself is not the world."""
    job = Growing("--timeout", "4", "--expect-ranks", "32")
    job.write(text(Job()))
    code, out, _ = job.wait()
    assert code == 1
    assert "16 ranks instead of 32" in out


@pytest.mark.usefixtures("log")
def test_follow_takes_up_new_files(tmp_path: Path) -> None:
    files: dict[int, list[str]] = {}
    for line in iter_lines(Job()):
        files.setdefault(line.rank, []).append(line.text + "\n")
    job = Growing("--timeout", "60", name="nccl-*.log")
    for rank, said in files.items():
        time.sleep(0.05)
        (tmp_path / f"nccl-{rank}.log").write_text("".join(said))
    code, out, _ = job.wait()
    assert code == 0, out


@pytest.mark.usefixtures("log")
def test_follow_takes_dumps_that_appear(tmp_path: Path) -> None:
    job = Growing("--timeout", "60", "--on-bad", "touch acted", name="logs")
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "slurm-7.out").write_text(text(Job(missing=frozenset({3}))))
    dumps = sorted((DUMPS / "mismatch").glob("nccl_trace_rank_*"))
    for dump in dumps[:2]:  # they come one by one, and each in parts
        data = dump.read_bytes()
        with (logs / dump.name).open("wb") as file:
            for part in (data[:40], data[40:3000], data[3000:]):
                file.write(part)
                file.flush()
                time.sleep(0.3)
    code, out, err = job.wait()
    assert code == 1
    assert "broken: rank 1: called broadcast of 16 Float as number 4" in out
    assert "--on-bad: not run: it is about a hang" in err
    assert not Path("acted").exists()


@pytest.mark.usefixtures("log")
def test_follow_reads_a_short_log_that_begins_as_a_dump_may(tmp_path: Path) -> None:
    job = Growing("--timeout", "3", "--json", name="nccl-*.log")
    (tmp_path / "nccl-1.log").write_text("{")
    (tmp_path / "nccl-2.log").write_text("")
    code, out, _ = job.wait()
    assert (code, json.loads(out)["coverage"]["files"]) == (3, 1)


@pytest.mark.usefixtures("log")
def test_on_bad_that_fails_is_said() -> None:
    job = Growing("--on-bad", "exit 5")
    job.write(text(FALLEN))
    code, _, err = job.wait()
    assert code == 1
    assert "--on-bad: exit code 5: exit 5" in err


def test_explain() -> None:
    done = envcfg("explain", "socket-fallback")
    assert done.code == 0
    assert "NCCL_NET" in done.text
    wrong = envcfg("explain", "socket-falback")
    assert (wrong.code, "did you mean 'socket-fallback'" in wrong.err) == (2, True)


def test_every_finding_can_be_explained(log: Callable[..., str]) -> None:
    findings = json.loads(run("--json", log(FALLEN)).text)["findings"]
    for finding in findings:
        assert envcfg("explain", finding["rule"]).code == 0


def test_other_commands_do_not_pay_for_this_one() -> None:
    code = "import sys; from envcfg import cli; cli.main(['wrap', '--container', 'none', '--print', 'plan', '--', 'x']); print([m for m in sys.modules if m.startswith('envcfg.log')])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"

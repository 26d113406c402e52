"""Files beside a log: they are known, say what hangs, and never make a job better."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
from pathlib import Path

import answers  # type: ignore[import-not-found,unused-ignore]
import pytest
from jobs import Job, text
from test_lagging import waits

from envcfg.cli import main
from envcfg.log.collective.sidecars import kinds_of

DUMPS = Path(__file__).parents[1] / "trace" / "dumps"
ANSWERS = {
    name: getattr(answers, name)
    for name in dir(answers)
    if name.isupper() and name not in ("EIGHT", "HEAD")
}


def judged(
    capsys: pytest.CaptureFixture[str], *files: Path | str
) -> tuple[int, dict[str, object], dict[str, str]]:
    """Return the exit code, the answer, and the severity of each finding by its rule."""
    code = main(["check-log", "--json", *map(str, files)])
    answer = json.loads(capsys.readouterr().out)
    return code, answer, {each["rule"]: each["severity"] for each in answer["findings"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with each answer, and the log of a job that is well."""
    for name, said in ANSWERS.items():
        (tmp_path / name.lower()).write_text(said)
    (tmp_path / "job.out").write_text(text(Job()))
    return tmp_path


ALONE = {
    "ok": ("inconclusive", {"ras-even": "note"}),
    "json_ok": ("inconclusive", {"ras-even": "note"}),
    "uneven": ("inconclusive", {"ras-even": "note"}),
    "none": ("inconclusive", {}),
    "behind": ("inconclusive", {"ras-behind": "note"}),
    "json_behind": ("inconclusive", {"ras-behind": "note"}),
    "dead": ("broken", {"ras-dead": "error", "ras-silent": "warning"}),
    "json_dead": (
        "broken",
        {"ras-dead": "error", "ras-silent": "warning", "ras-left": "warning"},
    ),
    "failed": (
        "broken",
        {"ras-error": "error", "ras-left": "warning", "ras-behind": "note"},
    ),
    "json_failed": ("broken", {"ras-error": "error", "ras-left": "warning"}),
}


@pytest.mark.parametrize("name", ALONE)
def test_an_answer_alone(
    capsys: pytest.CaptureFixture[str], folder: Path, name: str
) -> None:
    code, answer, rules = judged(capsys, folder / name)
    verdict, expected = ALONE[name]
    assert (answer["verdict"], rules) == (verdict, expected)
    assert code == {"broken": 1, "inconclusive": 3}[verdict]
    assert str(answer["summary"]).startswith(f"{verdict}: ")
    assert answer["network_verdict"] == "inconclusive"


@pytest.mark.parametrize("name", ALONE)
def test_beside_a_log_that_is_well(
    capsys: pytest.CaptureFixture[str], folder: Path, name: str
) -> None:
    log = folder / "job.out"
    assert judged(capsys, log)[1]["verdict"] == "ok"
    _, answer, rules = judged(capsys, log, folder / name)
    verdict, expected = ALONE[name]
    assert rules.items() >= expected.items()
    assert answer["network_verdict"] == "ok"
    # What finds nothing wrong takes nothing from the log's own verdict.
    sure = "ok" if name in ("ok", "json_ok", "uneven", "none") else verdict
    assert answer["verdict"] == sure
    assert ("network ok: " in str(answer["summary"])) == (sure != "ok")


def test_a_folder_with_all_of_it_is_as_bad_as_the_worst(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert judged(capsys, folder)[1]["verdict"] == "broken"


@pytest.mark.parametrize(("count", "who"), [(1, "1 process"), (3, "3 processes")])
def test_processes_that_are_not_named_are_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, count: int, who: str
) -> None:
    lines = answers.DEAD.replace("1 job process is", f"{count} job processes are")
    named = "  Process 4711 on node 10.0.0.2 managing GPUs 1,2 (NVML 5,6)\n"
    (tmp_path / "answer").write_text(lines.replace(named, ""))
    findings = judged(capsys, tmp_path / "answer")[1]["findings"]
    assert [each["subject"] for each in findings if each["rule"] == "ras-dead"] == [who]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("apart", "rule"), [(60, "ras-stuck"), (2, "ras-behind")])
def test_two_answers_tell_who_is_stuck(
    capsys: pytest.CaptureFixture[str], folder: Path, apart: int, rule: str
) -> None:
    first, second = folder / "behind", folder / "again"
    second.write_text(answers.BEHIND)
    os.utime(first, (1_000_000, 1_000_000))
    os.utime(second, (1_000_000 + apart, 1_000_000 + apart))
    assert list(judged(capsys, second, first)[2]) == [rule]


def test_a_rank_that_moves_is_not_stuck(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    later = answers.JSON_BEHIND.replace("05:06:07", "05:09:07")
    for old, new in (("119", "219"), ("120", "220")):
        later = later.replace(f": {old}", f": {new}")
    (folder / "later").write_text(later)
    rules = judged(capsys, folder / "json_behind", folder / "later")[2]
    assert rules == {"ras-behind": "note"}


CASES = {
    "ok": ("inconclusive", {"flight-even": "note"}),
    "lag": ("broken", {"flight-behind": "error"}),
    "mismatch": ("broken", {"flight-out-of-step": "error"}),
}


@pytest.mark.parametrize("case", CASES)
def test_dumps(capsys: pytest.CaptureFixture[str], case: str) -> None:
    _, answer, rules = judged(capsys, *sorted((DUMPS / case).glob("nccl_*")))
    assert (answer["verdict"], rules) == CASES[case]


def test_a_dump_says_who_is_missing_and_where_the_others_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["check-log", *map(str, sorted((DUMPS / "lag").glob("nccl_*")))]) == 1
    out = capsys.readouterr().out
    assert out.startswith("broken: rank 2: did not call number 4 of default_pg")
    assert "/lag/nccl_trace_rank_0:1: all_gather of 16 Float" in out  # the first rank
    assert "/home/user/train_2.py:16" in out


def test_a_receive_that_has_not_ended_is_an_open_question(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    receive = {
        "process_group": ["0", "pp"],
        "p2p_seq_id": 4,
        "profiling_name": "nccl:recv 1<-0",
        "is_p2p": True,
        "state": "started",
        "retired": False,
    }
    dump = {"version": "2.10", "pg_config": {}, "entries": [receive]}
    for rank, entries in enumerate(([], [receive])):
        path = tmp_path / f"fr_{rank}.json"
        path.write_text(json.dumps({**dump, "entries": entries}))
    _, answer, rules = judged(capsys, tmp_path)
    assert (answer["verdict"], rules) == ("inconclusive", {"flight-open": "note"})
    assert "whether the job hangs in recv 1<-0 of pp" in json.dumps(answer["unknowns"])


def test_who_is_held_up_by_another_follows_from_him(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def called(group: str, seq: int, state: str) -> dict[str, object]:
        return {
            "process_group": [group, group],
            "collective_seq_id": seq,
            "profiling_name": "nccl:all_reduce",
            "state": state,
            "retired": state == "completed",
        }

    entries = (
        [called("dp", 1, "completed"), called("dp", 2, "started")],
        [
            called("dp", 1, "completed"),
            called("tp", 1, "completed"),
            called("tp", 2, "started"),
        ],
        [called("tp", 1, "completed")],
    )
    for rank, own in enumerate(entries):
        dump = {"version": "2.10", "pg_config": {}, "entries": own}
        (tmp_path / f"fr_{rank}.json").write_text(json.dumps(dump))
    main(["check-log", "--json", str(tmp_path)])
    answer = json.loads(capsys.readouterr().out)
    assert answer["summary"].startswith("broken: rank 2: did not call number 2 of tp")
    assert [(each["subject"], each["cause"]) for each in answer["findings"]] == [
        ("rank 2", True),
        ("rank 1", False),
    ]
    assert "; rank 1 waits in number 2 of tp" in answer["findings"][1]["message"]


def test_compressed_and_by_a_pipe(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = folder / "packed.gz"
    packed.write_bytes(gzip.compress(answers.JSON_DEAD.encode()))
    dump = folder / "nccl_trace_rank_1.gz"
    dump.write_bytes(gzip.compress((DUMPS / "mismatch/nccl_trace_rank_1").read_bytes()))
    assert "ras-dead" in judged(capsys, packed)[2]
    others = sorted((DUMPS / "mismatch").glob("nccl_*_[023]"))
    assert "flight-out-of-step" in judged(capsys, dump, *others)[2]

    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(answers.DEAD.encode()))  # type: ignore[arg-type]

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert "ras-dead" in judged(capsys, "-")[2]


def test_a_spoilt_file_is_an_open_question(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "cut").write_text(answers.JSON_OK[:900])
    (folder / "rank_3").write_bytes((DUMPS / "ok/nccl_trace_rank_0").read_bytes()[:900])
    (folder / "dump").write_bytes((DUMPS / "ok/nccl_trace_rank_0").read_bytes())
    files = [folder / name for name in ("job.out", "cut", "rank_3", "dump")]
    code, answer, _ = judged(capsys, *files)
    assert code == 3
    unknowns = json.dumps(answer["unknowns"])
    for said in ("cut off", "damaged pickle", "whose dump it is"):
        assert said in unknowns


def test_words_of_an_answer_reach_no_terminal_as_they_stand(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    spoilt = answers.JSON_DEAD.replace("10.0.0.2", r"\u001b[31mred\u202e")
    (folder / "evil").write_text(spoilt)
    main(["check-log", str(folder / "evil")])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_a_log_that_begins_with_an_answer_is_one(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    """As where the job asks RAS before it fails."""
    watchdog = (
        "[rank3]:[E314 09:36:53.4 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=41, OpType=ALLREDUCE, NumelIn=1, "
        "NumelOut=1, Timeout(ms)=600000) ran for 600027 milliseconds before timing out.\n"
    )
    for goes_on in (watchdog, text(Job()) + watchdog):
        (folder / "mixed").write_text(answers.OK + goes_on)
        _, answer, rules = judged(capsys, folder / "mixed")
        assert answer["verdict"] == "broken"
        assert rules == {"lag-alone": "error", "torch-watchdog": "error"}


def test_a_log_stays_a_log(tmp_path: Path) -> None:
    heads = [
        "NCCL version 2.27.7+cuda12.9\n",
        '{"log":"gpu-07:1:1 [0] NCCL INFO Using network IB","stream":"stdout"}\n',
        "training\n" + answers.DEAD,
        "",
        "\x80 hello",
    ]
    files = [tmp_path / f"{number}.out" for number in range(len(heads))]
    for file, head in zip(files, heads, strict=True):
        file.write_text(head)
    assert kinds_of([str(each) for each in files]) == {}


def test_an_answer_within_a_log_is_read_line_by_line(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "mixed").write_text(text(Job()) + answers.DEAD)
    _, answer, rules = judged(capsys, folder / "mixed")
    assert answer["verdict"] == "broken"
    assert rules == {"ras-text-dead": "error", "ras-text-silent": "warning"}
    (folder / "mixed").write_text(text(Job()) + answers.BEHIND)
    _, answer, rules = judged(capsys, folder / "mixed")
    assert (answer["verdict"], rules) == ("ok", {"ras-text-behind": "note"})


def test_a_dump_that_names_who_is_missing_goes_before_the_watchdogs_lines(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = tmp_path / "slurm-7.out"
    log.write_text("".join(waits(rank, seq=4) for rank in (0, 1, 3)), "utf-8")
    alone = judged(capsys, log)[1]
    assert str(alone["summary"]).startswith("broken: rank 2 says nothing, and 3 ranks")
    _, answer, rules = judged(capsys, log, *sorted((DUMPS / "lag").glob("nccl_*")))
    assert str(answer["summary"]).startswith(
        "broken: rank 2: did not call number 4 of default_pg"
    )
    assert {"flight-behind", "lag-silent"} <= set(rules)
    findings: list[dict[str, object]] = answer["findings"]  # type: ignore[assignment]
    assert findings[0]["rule"] == "flight-behind"
    assert [row["rank"] for row in answer["waiting"]] == [0, 1, 3]  # type: ignore[attr-defined]


def test_a_dump_does_not_go_before_what_failed_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = tmp_path / "slurm-7.out"
    lost = (
        "nid001001:4711:4999 [0] transport/net_ib.cc:1309 NCCL WARN NET/IB : Got completion "
        "from peer 10.0.0.2<40001> with status=12 opcode=0 len=0 vendor err 129\n"
    )
    log.write_text(lost + "".join(waits(rank, seq=4) for rank in (0, 1, 3)), "utf-8")
    alone = judged(capsys, log)[1]
    answer = judged(capsys, log, *sorted((DUMPS / "lag").glob("nccl_*")))[1]
    assert answer["summary"] == alone["summary"]

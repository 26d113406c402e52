"""Reports that collectors of logs keep as one record, or with a time and a stream."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from checking import check
from hypothesis import given
from hypothesis import strategies as st
from jobs import Job, text

from envcfg.log.read.folded_lines import rows_of, unfolded

REPORT = """\
Traceback (most recent call last):
  File "/opt/conda/bin/torchrun", line 8, in <module>
    sys.exit(main())
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-03-14_09:26:53
  host      : nid001001
  rank      : 5 (local_rank: 1)
  exitcode  : 1 (pid: 4711)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-03-14_09:26:50
  host      : nid001001
  rank      : 4 (local_rank: 0)
  exitcode  : -9 (pid: 4710)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 4710
============================================================
"""
TIME = "2026-03-14T09:26:53.123"


def by_line(form: str) -> str:
    return "".join(form.format(line) + "\n" for line in REPORT.splitlines())


def in_json(record: Callable[[str], dict[str, object]]) -> str:
    return "".join(f"{json.dumps(record(line))}\n" for line in REPORT.splitlines())


FORMS = {
    "plain": REPORT,
    "console": by_line(TIME + "Z {}"),
    "tail": by_line(TIME + "000+00:00 my-job/default/0f3a5b6c7d8e {}"),
    "tail-short": by_line("2026-03-14T09:26:53 my-job/abc/algo-1-1234567 {}"),
    "export": by_line(TIME + "Z\tmy-stream\t{}"),
    "docker": in_json(lambda line: {"log": line + "\n", "stream": "stderr"}),
    "no-stream": in_json(lambda line: {"log": line + "\n"}),
    "events": json.dumps(
        {"events": [{"timestamp": 1, "message": x} for x in REPORT.splitlines()]},
        indent=4,
    ),
    "one-console": f"{TIME}Z {REPORT}",
    "one-docker": json.dumps({"log": REPORT, "stream": "stderr"}) + "\n",
    "one-event": json.dumps({"timestamp": 1773480413123, "message": REPORT}) + "\n",
    "one-export": json.dumps({"events": [{"message": REPORT}]}, indent=4) + "\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_the_root_cause_of_a_report(form: str) -> None:
    report = check(FORMS[form])
    assert report.summary.startswith("broken: rank 4 (nid001001) was killed (SIGKILL)")
    assert report.next.answer == "fix first"


@pytest.mark.parametrize("before", ["", "step 1\n" * 7])
def test_evidence_is_the_line_of_the_record(before: str) -> None:
    report = check(before + FORMS["one-docker"] + "step 8\n")
    errors = [each for each in report.findings if each.severity == "error"]
    lines = {each.evidence.line for each in errors if each.evidence}
    assert lines == {before.count("\n") + 1}


def test_an_exception_in_a_record() -> None:
    lines = [
        "Traceback (most recent call last):",
        '  File "/home/me/train.py", line 7, in <module>',
    ]
    folded = "\n".join([*lines, "ValueError: a shard is cut"])
    report = check(f"start\n{json.dumps({'log': folded})}\n")
    assert (
        report.summary
        == "broken: the job ended: ValueError: a shard is cut (train.py:7)"
    )
    (error,) = report.findings
    assert error.evidence
    assert error.evidence.line == 2


@pytest.mark.parametrize("key", ["log", "message"])
def test_lines_of_nccl_in_a_record_prove_nothing(key: str) -> None:
    log = text(Job(nodes=2, ranks_per_node=1))
    assert check(log).verdict == "ok"
    assert check(json.dumps({key: log}) + "\n").verdict == "inconclusive"
    events = {"events": [{key: line} for line in log.splitlines()]}
    assert check(json.dumps(events, indent=4)).verdict == "inconclusive"


PIECES = st.sampled_from(
    [
        '{"log": "',
        '"message": "',
        "\\n",
        '\\"',
        "\\",
        '"',
        "\n",
        "a",
        '", "b": 1}',
        "\\u001b[0m",
        "\r",
    ]
)


@given(st.lists(PIECES, max_size=40))
def test_no_byte_moves_to_another_line(pieces: list[str]) -> None:
    block = "".join(pieces).encode()
    result = unfolded(block)
    assert len(result) == len(block)
    assert [n for n, byte in enumerate(block) if byte == 10 and result[n] != 10] == []
    rows = rows_of(result, block)
    assert rows == sorted(rows)
    assert len(rows) == result.removesuffix(b"\n").count(b"\n") + 1


@pytest.mark.parametrize(
    "record",
    [
        {"role": "user", "message": "see\nTraceback (most recent call last):\nwhy?"},
        {"level": "info", "message": "sample: 'a\\nValueError: b\\nc'"},
        {"level": "info", "message": ""},
    ],
)
def test_data_in_a_record_is_no_line_of_the_program(record: dict[str, str]) -> None:
    text = json.dumps(record).encode() + b"\n"
    assert unfolded(text) == text


def test_an_empty_record_of_an_export_is_one_line() -> None:
    text = b'    "message": "",\n    "message": "a\\\\n",\n'
    assert unfolded(text).count(b"\n") == 2

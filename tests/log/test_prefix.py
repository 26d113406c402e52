"""Lines to records: what stands in front is taken off, and nothing is taken for a rank."""

from __future__ import annotations

import time

import pytest

from envcfg.log.read.prefix import Record, parse, records

PLAIN = "nid001234:4711:4802 [3] NCCL INFO Using network Socket"
RECORD = Record("nid001234", 4711, 3, "INFO", "Using network Socket", certain=True)
QUOTED = RECORD._replace(
    certain=False, quoted=True, copy=True
)  # other text is in front


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (PLAIN, RECORD),
        (PLAIN + "\r", RECORD),
        (f"12: {PLAIN}", RECORD._replace(label=12)),
        (f"  3: {PLAIN}", RECORD._replace(label=3)),
        (f"[1,26]<stdout>:{PLAIN}", RECORD._replace(label=26, is_rank=True)),
        (f"[1,26]<stderr>:{PLAIN}", RECORD._replace(label=26, is_rank=True)),
        (f"[26] {PLAIN}", RECORD._replace(label=26, is_rank=True)),
        (f"[rank4]:{PLAIN}", RECORD._replace(label=4, is_rank=True)),
        (f"[default1]:{PLAIN}", RECORD._replace(label=1)),
        (f"[trainer3|3]:{PLAIN}", RECORD._replace(label=3)),
        (f"nid001234: {PLAIN}", RECORD),
        (f"10.0.7.1: 10.0.7.1: {PLAIN}", RECORD),
        (
            f"x3005c0s1b0n0.hsn.cm.site.org 7: {PLAIN}",
            RECORD._replace(label=7, is_rank=True),
        ),
        (f"(Engine pid=7) (Worker pid=9, ip=10.1.2.3) {PLAIN}", RECORD),
        (f"{PLAIN} [repeated 7x across cluster]", RECORD._replace(repeated=7)),
        (f"  | 2026-03-04T05:06:07.123Z | {PLAIN}", RECORD),
        (f"  | 2026-03-04T05:06:07.123-07:00{PLAIN}", RECORD),
        (f"│ {PLAIN}      │", QUOTED),
        (f"# MAGIC {PLAIN}", QUOTED),
        (f"rank_604.nid001234.log:17:{PLAIN}", QUOTED),
        (f"\x1b[31m{PLAIN}\x1b[0m", QUOTED),
        (f"\x1b[36m(Worker pid=9)\x1b[0m {PLAIN}", RECORD),
        (f"2026-03-04T05:06:07.123456 {PLAIN}", RECORD),
        (f"0: [default2]:{PLAIN}", RECORD._replace(label=2)),
        (
            "[2026-03-04 05:06:07] nid001234:4711:4802 [3] plugin/net.cc:302 (init) NCCL WARN no",
            Record(
                "nid001234",
                4711,
                3,
                "WARN",
                "no",
                time="2026-03-04 05:06:07",
                where="plugin/net.cc:302 (init)",
                certain=True,
            ),
        ),
        (
            "gpu-07:9:9 [0] int create(nccl_ofi_plugin_t**, int):46 NCCL WARN NET/OFI no",
            Record(
                "gpu-07",
                9,
                0,
                "WARN",
                "NET/OFI no",
                where="int create(nccl_ofi_plugin_t**, int):46",
                certain=True,
            ),
        ),
        (
            "gpu-07:9:9 NCCL CALL ncclAllReduce(1)",
            Record("gpu-07", 9, None, "CALL", "ncclAllReduce(1)", certain=True),
        ),
        (
            "gpu-07:9:9 [0] INFO Using internal Network IB",
            Record("gpu-07", 9, 0, "INFO", "Using internal Network IB", certain=True),
        ),
        (
            "gpu-07:9:9 [0] misc/ibvwrap.cu:60 WARN Failed to open libibverbs.so[.1]",
            Record(
                "gpu-07",
                9,
                0,
                "WARN",
                "Failed to open libibverbs.so[.1]",
                where="misc/ibvwrap.cu:60",
                certain=True,
            ),
        ),
        (
            "gpu-07:9:9 [0] include/socket.h:360 WARN no",
            Record(
                "gpu-07", 9, 0, "WARN", "no", where="include/socket.h:360", certain=True
            ),
        ),
        (
            ":9:9 [0] NCCL INFO Using network IB",
            Record("", 9, 0, "INFO", "Using network IB", certain=True),
        ),
        (
            "::9:9 [0] NCCL INFO Using network IB",
            Record("", 9, 0, "INFO", "Using network IB", certain=True),
        ),
        (
            "<redacted>:9:9 [0] NCCL INFO Using network IB",
            Record("<redacted>", 9, 0, "INFO", "Using network IB", certain=True),
        ),
        (
            "6f2d8a82d208:9:9 [0] NCCL INFO Using network IB",
            Record("6f2d8a82d208", 9, 0, "INFO", "Using network IB", certain=True),
        ),
        (
            "node [1] NCCL INFO Using network IB",
            Record("node", None, 1, "INFO", "Using network IB"),
        ),
        (
            "NCCL INFO Using network IB",
            Record("", None, None, "INFO", "Using network IB"),
        ),
        (
            "[0604/1024][2026-02-16 22:31:34,422] [misc/socket.cc:586] [gpu7:pid=42] NCCL WARN no",
            Record(
                "gpu7",
                42,
                None,
                "WARN",
                "no",
                604,
                True,
                "2026-02-16 22:31:34,422",
                certain=True,
            ),
        ),
        (f"09:26:53 {PLAIN}", RECORD),
        (f"[09:26:53.125] {PLAIN}", RECORD),
        (f"2026/03/14 09:26:53 {PLAIN}", RECORD),
        (f"[12:07:01,004][INFO] worker/7 {PLAIN}", QUOTED),
        (f"0:00:12 main.py:17:4 {PLAIN}", QUOTED),
        (f"Mar 14 09:26:53 {PLAIN}", RECORD),
        (f"Mar  4 09:26:53 nid1 12: {PLAIN}", RECORD._replace(label=12, is_rank=True)),
        (f"<14>Mar 14 09:26:53 nid1 app: {PLAIN}", QUOTED),
        (f"Mar 14 09:26:53 nid1 slurmstepd[7]: 3: {PLAIN}", RECORD._replace(label=3)),
        (f"Sat Mar 14 09:26:53 2026<stdout>:{PLAIN}", RECORD),
        (
            f"Sat Mar 14 09:26:53 2026[1,26]<stderr>:{PLAIN}",
            RECORD._replace(label=26, is_rank=True),
        ),
        (f"INFO:root:{PLAIN}", QUOTED),
        (f"WARNING:my.module:[rank4]: {PLAIN}", QUOTED._replace(label=4, is_rank=True)),
        (f'{{"stream":"stderr","log":"{PLAIN}\\n"}}', RECORD),
        (f'{{"log":"{PLAIN}', QUOTED),
        (
            r'{"log":"nid1:9:9 [0] NCCL INFO Ring 00 : 5[1] -\u003e 6[2]\n","stream":"stdout"}',
            Record("nid1", 9, 0, "INFO", "Ring 00 : 5[1] -> 6[2]", certain=True),
        ),
        (f"'{PLAIN}", QUOTED),
        (f"b'{PLAIN}\\n',", QUOTED),
        (f"{PLAIN}\\n", RECORD),
        (f"{PLAIN}<br/>", RECORD),
        (f"loss=0.5{PLAIN}", QUOTED._replace(host="0.5nid001234", glued=True)),
        (f"-{PLAIN}", QUOTED._replace(glued=True)),
        (
            "09:26:53 [3] NCCL INFO Using network IB",
            Record("", None, 3, "INFO", "Using network IB"),
        ),
        (
            "2026-03-14T09:26:53 [3] NCCL INFO Using network IB",
            Record("", None, 3, "INFO", "Using network IB"),
        ),
        ("Step 7: loss 1.0", Record("", None, None, "", "Step 7: loss 1.0")),
        ("", Record("", None, None, "", "")),
    ],
)
def test_record(line: str, expected: Record) -> None:
    assert parse(line)._replace(writer="", form="") == expected


@pytest.mark.parametrize(
    ("line", "certain"),
    [
        (
            "libfabric:1177:1701985999::cxi:mr:cxip_do_map():90<warn> cxil_map() failed",
            True,
        ),
        (
            "slurmstepd: error: *** STEP 1.0 ON nid1 CANCELLED AT 1 DUE TO NODE FAILURE",
            True,
        ),
        ("3: srun: error: Node failure on nid001234", True),
        ("[rank3]:[E110 07:08:09.1234 ProcessGroupNCCL.cpp:629] Watchdog caught", True),
        ("[rank3]: Watchdog caught collective operation timeout: WorkNCCL(", False),
        ("Using network Socket", False),
        ("the log said srun: error: Node failure on nid001234", False),
        ("slurm-7.out:9:srun: error: Node failure on nid001234", False),
        (f'+ grep "{PLAIN}" out.log', False),
        (f"  slurm-7.out:138: {PLAIN}", False),
        ("NCCL INFO Using network Socket", False),
        ("node [1] NCCL INFO Using network IB", False),
        ("nid001:71:72 [0] NCCL INFO Using netnid002:81:82 [1] NCCL INFO x", False),
    ],
)
def test_who_wrote_a_line_is_certain_by_how_it_begins(line: str, certain: bool) -> None:
    assert parse(line).certain == certain


@pytest.mark.parametrize(
    ("front", "writer", "form"),
    [
        ("", "", ""),
        ("2026-03-04T05:06:07.123456 ", "", ""),
        (" 3: ", " 3: ", " task"),
        ("0: [default2]:", "0: [default2]:", " task local"),
        ("nid1: nid1: ", "nid1: nid1: ", " node node"),
        ("[pod/train-0/pytorch] ", "[pod/train-0/pytorch] ", " node"),
        ("trainer-1  | ", "trainer-1  | ", " node"),
        ("(Worker pid=9, ip=10.1.2.3) ", "(Worker pid=9, ip=10.1.2.3) ", " actor"),
    ],
)
def test_the_writer_is_what_the_launcher_puts_in_front(
    front: str, writer: str, form: str
) -> None:
    record = parse(front + PLAIN)
    assert (record.writer, record.form, record.certain) == (writer, form, True)


def test_device_is_not_the_rank() -> None:
    assert parse(PLAIN).label is None


@pytest.mark.parametrize("number", ["9" * 5000, "1" * 12])
def test_numbers_without_an_end(number: str) -> None:
    assert parse(f"nid1:{number}:7 [3] NCCL INFO x").pid is None
    assert parse(f"nid1:7:{number} [3] NCCL INFO x").pid == 7
    assert parse(f"nid1:7:7 [{number}] NCCL INFO x").device is None
    line = (
        f"[{number}/8][2026-03-04 05:06:07,1] [a.cc:1] [nid1:pid={number}] NCCL WARN x"
    )
    assert (parse(line).pid, parse(line).label) == (None, None)


def test_torn_and_glued_lines_are_two_records() -> None:
    line = "nid001:71:72 [0] NCCL INFO Using netnid002:81:82 [1] NCCL INFO Using network IB"
    first, second = records(line)
    assert (first.host, first.message, first.torn) == ("nid001", "Using", True)
    assert (second.pid, second.message, second.glued) == (81, "Using network IB", True)


def test_two_whole_records_on_a_line() -> None:
    first, second = records(f"{PLAIN} | {PLAIN}")
    assert second == RECORD._replace(certain=False, glued=True)
    assert first == RECORD


@pytest.mark.nightly
@pytest.mark.parametrize(
    "line",
    [
        "a" * 8000 + " NCCL INFO x",
        "a:1:" * 2000 + " NCCL INFO x",
        "[" * 4000 + "NCCL INFO " * 400,
        "1: " * 3000 + "NCCL INFO x",
        ("nid001:71:72 [0] NCCL INFO x" * 300)[:8000],
        "(Worker pid=1) " * 500 + "NCCL INFO",
        "1-" * 4000 + " NCCL INFO x",
        "09:26:53 " * 900 + "NCCL INFO x",
        "a:1:1 [0] " * 39 + "b:1:1 [0] " * 800 + "NCCL INFO x",
        "Mar 14 09:26:53 a " + "a" * 8000 + " NCCL INFO x",
        '{"log":"' + "\\\\" * 4000 + " NCCL INFO x",
        '{"' + '"log":"' * 1100 + " NCCL INFO x",
        "| 2026-03-04T05:06:07Z " * 300 + "NCCL WARN",
    ],
)
def test_hostile_lines_take_no_time(line: str) -> None:
    start = time.process_time()
    list(records(line))
    assert (
        time.process_time() - start < 2
    )  # a guard against runaway patterns, no benchmark

"""What strangers wrote takes no more than there is room for, and is never said to be ok."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from checking import check, rulebook
from hypothesis import given
from hypothesis import strategies as st
from jobs import Job, text

from envcfg import cli
from envcfg.common.budget import Budget
from envcfg.core import image_cache
from envcfg.image.image_environment import shell_assignments
from envcfg.image.metadata import bases_of
from envcfg.image.python_packages import distributions
from envcfg.image.tree import FolderTree
from envcfg.log import files
from envcfg.log.expectations import Expectations
from envcfg.log.judge.rank import Symptom
from envcfg.log.read import process_facts, scan
from envcfg.log.read.prefix import parse
from envcfg.log.verdict import LogReport
from fuzzing import tries

pytestmark = pytest.mark.nightly

GOOD = text(Job(nodes=2, ranks_per_node=2))
BAD = text(Job(nodes=2, ranks_per_node=2, fallen=frozenset({1})))
ENDLESS = re.compile(r"(?:a|aa)+$")
TEXT = "a" * 60 + "b"


def made_up(kind: str, number: int) -> str:
    """A line that only makes one more of *kind*."""
    comm = "cudaDev 0 busId 1000 commId 0x1 - Init COMPLETE"
    return {
        "process": f"h{number}:{number}:1 [0] NCCL INFO Using network IB\n",
        "communicator": f"nid001001:70:70 [0] NCCL INFO comm 0x{number:x} rank 0 nranks 2 {comm}\n",
        "channel": f"nid001001:70:70 [0] NCCL INFO Channel 00/0 : {number}[0] -> 1[0] "
        "[send] via NET/IB/0/GDRDMA\n",
        "line": f"nid001001:70:70 [{number}] NCCL WARN something new\n",
    }[kind]


@pytest.mark.parametrize("kind", ["process", "communicator", "channel", "line"])
@pytest.mark.parametrize("log", [GOOD, BAD])
@pytest.mark.parametrize("first", [True, False])
def test_a_log_with_more_than_there_is_room_for_is_never_ok(
    kind: str, log: str, first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [check(each).verdict for each in (GOOD, BAD)] == ["ok", "degraded"]
    monkeypatch.setattr(process_facts, "MANY", 1 << 30)
    monkeypatch.setitem(process_facts.MOST, kind, 100)
    more = "".join(made_up(kind, number) for number in range(2000, 2200))
    report = check(more + log if first else log + more)
    assert report.verdict != "ok"
    kept = [
        each.what for each in report.unknowns if "than check-log keeps" in each.what
    ]
    assert len(kept) == 1
    assert report.network_verdict != "ok"


def test_there_is_room_for_the_largest_jobs() -> None:
    """Frontier has 75,264 GPUs; of each rank a dozen lines are kept."""
    assert process_facts.MOST["process"] >= 75_264
    assert process_facts.MOST["line"] >= 12 * 65_536
    assert process_facts.MOST["communicator"] >= 3 * 65_536
    assert process_facts.MOST["channel"] >= 3 * 65_536


@pytest.mark.parametrize("kind", ["process", "communicator", "channel", "line"])
def test_three_times_as_much_that_is_made_up_takes_no_more_memory(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tracemalloc

    rulebook()
    for each in process_facts.MOST:
        monkeypatch.setitem(process_facts.MOST, each, 500)
    peaks = []
    check(
        "".join(made_up(kind, number) for number in range(100))
    )  # what is kept for good
    for count in (9000, 27_000):
        log = "".join(made_up(kind, 2000 + number) for number in range(count)).encode()
        tracemalloc.start()
        check(log)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def judged(log: str, path: Path) -> LogReport:
    path.write_text(log)
    return files.check_files([str(path)], rulebook(), Expectations())


@pytest.mark.parametrize("part", ["_take_in", "judge"])
@pytest.mark.parametrize("log", [GOOD, BAD])
def test_a_log_that_takes_too_long_is_judged_as_far_as_it_was_read(
    part: str, log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = getattr(files, part)

    def slow(*args: object) -> object:
        done = own(*args)
        if part == "_take_in" or args[0].records:  # type: ignore[attr-defined]
            ENDLESS.search(TEXT)
        return done

    monkeypatch.setattr(files, part, slow)
    monkeypatch.setattr(files, "_SECONDS", 1.0)
    report = judged(log, tmp_path / "job.log")
    whole = {GOOD: "inconclusive", BAD: "degraded"}[log]
    assert report.verdict == (whole if part == "_take_in" else "inconclusive")
    assert report.unknowns[0].what.startswith("the log: reading it takes more than 1")
    assert report.network_verdict != "ok"


@tries(60)
@given(st.lists(st.sampled_from(["<br>", "<br/>", "<br />", "\\n"]), max_size=30))
def test_ends_of_quoted_lines_are_taken_off_however_many(ends: list[str]) -> None:
    line = "nid1:70:70 [0] NCCL INFO Using network IB"
    assert parse(line + "".join(ends)).message == "Using network IB"


@pytest.mark.parametrize(
    "line",
    [
        "\\n" * 500_000 + "x",
        "nid1:70:70 [0] NCCL INFO '" + "<br>" * 200_000 + "x'",
        "NCCL " * 200_000,
        "a NCCL INFO " + "\x1b]" * 400_000,
    ],
)
def test_what_is_handed_to_the_patterns_of_a_log_is_cut(line: str) -> None:
    scanner = scan.Scanner([b"Using", b"\\n"])
    most = 2 * scan._PIECE
    pieces = [piece for _, piece, _ in scanner.candidates(line.encode() + b"\n")]
    assert max(map(len, pieces), default=0) <= most
    assert len(pieces) <= scan._MOST


HOSTILE = [
    'export A="${B:-' + "$aaaaaaaa" * times + end
    for times in (10, 1000)
    for end in ("", '"', '"}', '$"')
]


@pytest.mark.parametrize("line", HOSTILE)
def test_an_assignment_without_an_end_is_none(line: str) -> None:
    with Budget("the line", seconds=3, megabytes=500):
        assert dict(shell_assignments(line, {})) == {}


@pytest.mark.parametrize("piece", ["\n", "\t", " ", "from:", "z ", "\r"])
@pytest.mark.parametrize("begin", ["", "from: z"])
def test_a_definition_without_an_end_has_a_base_or_none(
    piece: str, begin: str, tmp_path: Path
) -> None:
    folder = tmp_path / ".singularity.d"
    folder.mkdir()
    folder.joinpath("Singularity").write_text(begin + piece * (1 << 16) + "}")
    with Budget("the definition", seconds=3, megabytes=500):
        assert len(bases_of(FolderTree(str(tmp_path)), {})) <= 1


def test_a_package_whose_name_is_longer_than_names_are_is_none() -> None:
    class Names(FolderTree):
        def names(self, _: str) -> list[str]:
            return ["a-9" + "a-9" * 20_000, "torch-2.7.1.dist-info"]

    with Budget("the names", seconds=3, megabytes=500):
        found = [each[:2] for each in distributions(Names("/"), "/site")]
    assert found == [("torch", "2.7.1")]


def test_an_assignment_that_is_longer_than_its_cap_is_not_looked_at() -> None:
    long = "A=" + "a" * (1 << 14)
    assert list(shell_assignments(f"{long}\nB=1\n", {})) == [("B", "1")]


@pytest.fixture
def endless_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An image at which a pattern would search for ever."""

    def look(*_: object) -> Symptom:
        ENDLESS.search(TEXT)
        raise AssertionError("it ended")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for module in ("envcfg.core.inspection", "envcfg.image.image_facts"):
        monkeypatch.setattr(f"{module}.inspect_tree", look)
    root = tmp_path / "root"
    (root / "usr").mkdir(parents=True)
    return root


def test_inspect_ends_with_an_error(
    endless_image: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("envcfg.core.inspection._SECONDS", 0.3)
    assert cli.main(["inspect", str(endless_image)]) == 4
    said = capfd.readouterr().err
    assert "reading it takes more than 0.3 s of processor time" in said


def test_wrap_goes_on_without_the_facts(
    endless_image: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_cache, "PATIENCE", 0.3)
    read, findings = image_cache.read_image(str(endless_image))
    assert not read.facts
    assert [each.rule for each in findings] == ["image-not-read"]
    assert "takes more than 0.3 s of processor time" in findings[0].message

"""Which profile knows a machine: the kinds of evidence, and what is read for it."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.errors import UsageError
from envcfg.profile.catalog import Catalog
from envcfg.profile.detect import Answer, Known, Machine, _fits, ask, detect, read_known
from envcfg.profile.folders import built_in_folder
from envcfg.profile.model import Detect
from envcfg.profile.read.loader import load_profile

REASON = "why: w, source: s, date: 2026-05-19"
GENERIC = "detect: {interfaces: ['hsn*'], devices: [/dev/kfd]}\n"
FILES = {
    "named": "detect: {clusters: [one], hosts: [one-*]}\n",
    "generic": GENERIC,
    "cards": "detect: {interfaces: ['ib*', 'eth*'], devices: [/dev/a, /dev/b]}\n",
    "devices": "detect: {devices: [/dev/x]}\n",
    "empty": "detect: {interfaces: [], devices: []}\n",
    "old": f"lifecycle: {{state: retired, {REASON}}}\n{GENERIC}",
    "child": "extends: generic\n",
    "both": "detect: {clusters: [two], interfaces: ['zz*'], devices: [/dev/z]}\n",
}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    for name, text in FILES.items():
        (tmp_path / f"{name}.yaml").write_text(f"name: {name}\n{text}")
    return Catalog([str(tmp_path)])


@pytest.mark.parametrize(
    ("cluster", "host", "interfaces", "devices", "expected"),
    [
        ("one", "x", (), (), "named"),
        (None, "one-7", (), (), "named"),
        ("x", "one-7", (), (), None),
        # names go before what is in the machine
        ("one", "x", ("hsn0",), ("/dev/kfd",), "named"),
        (None, "one-7", ("hsn0",), ("/dev/kfd",), "named"),
        # which counts where neither name is known
        ("x", "x", ("hsn0",), ("/dev/kfd",), "generic"),
        (None, "x", ("lo", "hsn1"), ("/dev/kfd",), "generic"),
        # all of it must be there
        (None, "x", ("hsn0",), (), None),
        (None, "x", (), ("/dev/kfd",), None),
        (None, "x", ("ib0", "eth1"), ("/dev/a", "/dev/b"), "cards"),
        (None, "x", ("ib0",), ("/dev/a", "/dev/b"), None),
        (None, "x", ("ib0", "eth1"), ("/dev/a",), None),
        (None, "x", (), ("/dev/x",), "devices"),
        (None, "x", (), (), None),
        ("two", "x", (), (), "both"),
        ("x", "x", ("zz1",), ("/dev/z",), "both"),
    ],
)
def test_a_name_counts_more_than_what_is_in_the_machine(
    catalog: Catalog,
    cluster: str | None,
    host: str,
    interfaces: tuple[str, ...],
    devices: tuple[str, ...],
    expected: str | None,
) -> None:
    found = _one(catalog, cluster, host, interfaces, devices)
    assert (found and found.name) == expected
    guessed = expected in {"generic", "cards", "devices"} or "zz1" in interfaces
    assert (found is not None and found.evidence == "devices") is guessed


@pytest.mark.parametrize(
    ("machine", "found", "others"),
    [
        (
            Machine("one", "x"),
            {"named": "the cluster is one"},
            {
                "generic": "no interface is named hsn*",
                "cards": "no interface is named ib*",
                "devices": "there is no /dev/x",
                "old": "retired: it is known by its name only",
                "both": "no interface is named zz*",
                "hosts": "the cluster is one, and only hosts are known",
                "pair": "the cluster is one, not three or four",
                "silent": "it says nothing",
            },
        ),
        (
            Machine(None, "one-7", ("ib0", "eth1"), {"/dev/a", "/dev/b"}.__contains__),
            {"named": "the host is one-7"},
            {
                "cards": "there is ib0 and eth1 and /dev/a and /dev/b",
                "generic": "no interface is named hsn*",
                "devices": "there is no /dev/x",
                "old": "retired: it is known by its name only",
                "both": "no interface is named zz*",
                "hosts": "the host is one-7, not h-* or g-*",
                "pair": "no cluster is named, as three or four would be",
                "silent": "it says nothing",
            },
        ),
    ],
    ids=["cluster", "host"],
)
def test_what_fits_and_what_does_not_is_said(
    machine: Machine, found: dict[str, str], others: dict[str, str]
) -> None:
    known = [
        Known(name, detect, retired=name == "old")
        for name, detect in {
            "named": Detect(clusters=("one",), hosts=("one-*",)),
            "generic": Detect(interfaces=("hsn*",), devices=("/dev/kfd",)),
            "cards": Detect(interfaces=("ib*", "eth*"), devices=("/dev/a", "/dev/b")),
            "devices": Detect(devices=("/dev/x",)),
            "old": Detect(interfaces=("hsn*",), devices=("/dev/kfd",)),
            "both": Detect(clusters=("two",), interfaces=("zz*",)),
            "hosts": Detect(hosts=("h-*", "g-*")),
            "pair": Detect(clusters=("three", "four")),
            "silent": Detect(),
        }.items()
    ]
    detection = ask(known, machine)
    assert {each.name: each.why for each in detection.found} == found
    assert {each.name: each.why for each in detection.others} == others


def test_two_that_fit_what_is_in_the_machine_are_both_named(catalog: Catalog) -> None:
    Path(catalog.folders[0], "twin.yaml").write_text(f"name: twin\n{GENERIC}")
    with pytest.raises(UsageError, match="generic and twin both claim"):
        _one(catalog, None, "x", ("hsn0",), ("/dev/kfd",))


def test_a_higher_layer_says_anew_how_a_system_is_known(tmp_path: Path) -> None:
    low, high = tmp_path / "low", tmp_path / "high"
    for folder, text in ((low, FILES["named"]), (high, "detect: {clusters: [new]}\n")):
        folder.mkdir()
        (folder / "named.yaml").write_text(f"name: named\n{text}")
    catalog = Catalog([str(low), str(high)])
    found = _one(catalog, "new", "x")
    assert found
    assert found.name == "named"
    assert _one(catalog, "one", "x") is None


def _one(
    catalog: Catalog,
    cluster: str | None,
    host: str,
    interfaces: Sequence[str] = (),
    devices: Sequence[str] = (),
) -> Answer | None:
    machine = Machine(cluster, host, interfaces, devices.__contains__)
    return detect(catalog, machine).one()


SHIPPED = sorted(Path(built_in_folder()).glob("*.yaml"))
ODD = {
    "flow": "{name: odd, detect: {clusters: [c]}}",
    "windows": "name: odd\r\nsummary: x\r\ndetect:\r\n  clusters: [c]\r\nnode: null\r\n",
    "quoted key": 'name: odd\n"detect":\n  clusters: [c]\n',
    "comments": "# detect:\nname: odd # the name\ndetect: # so\n# here\n  # there\n\n  hosts: [h]\n  clusters:\n    - c\n\nenv: {}\n",
    "no newline": "name: odd\ndetect: {clusters: [c]}",
    "in a text": "name: odd\nsummary: >-\n  x\n  detect: {clusters: [no]}\ndetect: {clusters: [c]}\n",
    "unindented list": "name: odd\ndetect:\n  clusters:\n  - c\n",
    "document": "---\nname: odd\ndetect: {clusters: [c]}\n",
    "byte order mark": "\ufeffname: odd\ndetect: {clusters: [c]}\n",
    "split flow": "name: odd\ndetect: {\n  clusters: [c]\n}\n",
    "flow at the margin": "name: odd\nenv: {\ndetect: {value: 1, why: w, source: s, date: 2026-01-01}}\n",
    "nothing": "name: odd\nsummary: x\n",
}  # fmt: skip


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_what_is_read_for_detection_is_what_the_file_says(path: Path) -> None:
    _same(path.read_bytes(), path.stem)


@pytest.mark.parametrize("name", ODD)
def test_odd_files_are_read_as_the_loader_reads_them(name: str) -> None:
    _same(ODD[name].encode(), "odd")


def _same(data: bytes, stem: str) -> None:
    whole = load_profile(data, path="f", stem=stem, problems=[])
    known = read_known(data, path="f", stem=stem)
    assert whole
    assert known
    assert known.detect == whole.detect
    if whole.detect:
        assert (known.lifecycle and known.lifecycle.state) == (
            whole.lifecycle and whole.lifecycle.state
        )


def test_what_is_wrong_elsewhere_in_a_file_is_said_when_it_is_loaded() -> None:
    known = read_known(
        b"name: odd\ndetect: {clusters: [c]}\nenv: 1\n", path="f", stem="odd"
    )
    assert known
    assert known.detect == Detect(clusters=("c",))


@pytest.mark.parametrize("text", ["{}", "", "name: other\n", "name: odd\ndetect: 1\n", "\tx\n", "- a\n"])  # fmt: skip
def test_files_that_cannot_be_used_are_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "odd.yaml").write_text(text)
    catalog = Catalog([str(tmp_path)])
    detection = detect(catalog, Machine(None, "x"))
    assert (detection.found, detection.others) == ((), ())
    assert detection.broken == (str(tmp_path / "odd.yaml"),)


SIGNS = st.text("ab1-.*?[]!", max_size=6)


@given(st.text("ab1-.[", max_size=6), st.lists(SIGNS, max_size=3))
def test_a_name_fits_as_the_shell_has_it(name: str, globs: list[str]) -> None:
    assert _fits(name, globs) == any(fnmatchcase(name, glob) for glob in globs)

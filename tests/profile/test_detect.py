"""Which profile knows a machine: the kinds of evidence, and what is read for it."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.common.errors import UsageError
from envcfg.profile.catalog import Catalog
from envcfg.profile.detect import (
    Candidate,
    Machine,
    ProfileMatch,
    _fits,
    ask,
    detect,
    known_profiles,
    read_known,
)
from envcfg.profile.folders import built_in_folder
from envcfg.profile.profile_model import Detect
from envcfg.profile.read.profile_loader import load_profile

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
        Candidate(name, detect, retired=name == "old")
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
    assert {each.name: each.why for each in detection.matches} == found
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
) -> ProfileMatch | None:
    machine = Machine(cluster, host, interfaces, devices.__contains__)
    return detect(catalog, machine).single_match()


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
    assert (detection.matches, detection.others) == ((), ())
    assert detection.broken == (str(tmp_path / "odd.yaml"),)


SIGNS = st.text("ab1-.*?[]!", max_size=6)


@given(st.text("ab1-.[", max_size=6), st.lists(SIGNS, max_size=3))
def test_a_name_fits_as_the_shell_has_it(name: str, globs: list[str]) -> None:
    assert _fits(name, globs) == any(fnmatchcase(name, glob) for glob in globs)


# A login node of each system that can be recognised on one: its host's name, and what of
# files and variables its site puts there. Adastra's profiles are chosen by name.
LOGIN_NODES: dict[str, tuple[str, dict[str, str]]] = {
    "alps-clariden": ("clariden-ln001", {}),
    "alps-clariden, by its variable": ("nid005471", {"CLUSTER_NAME": "clariden"}),
    "delta": ("dt-login01", {}),
    "deltaai": ("gh-login01", {}),
    "derecho": ("derecho3", {}),
    "derecho, by its variable": ("dec0001", {"NCAR_HOST": "derecho"}),
    "frontier": ("login05", {"LMOD_SYSTEM_NAME": "frontier"}),
    "jean-zay": ("jean-zay3", {}),
    "jupiter": ("jpbl-s01-02", {}),
    "juwels-booster": ("jwlogin22", {"/etc/FZJ/systemname": "juwelsbooster"}),
    "karolina": ("login2.karolina.it4i.cz", {}),
    "kestrel": ("kl1.hpc.nrel.gov", {}),
    "leonardo": ("login07.leonardo.local", {}),
    "lonestar6": ("login1.ls6.tacc.utexas.edu", {}),
    "lonestar6, by its variable": ("login1", {"TACC_SYSTEM": "ls6"}),
    "lumi-g": ("uan02", {"/appl/local/laifs": ""}),
    "mahti": ("mahti-login11", {}),
    "marenostrum5-acc": ("alogin1", {}),
    "perlmutter": ("login23", {"NERSC_HOST": "perlmutter"}),
    "perlmutter, by its file": ("login23", {"/etc/clustername": "perlmutter"}),
    "aurora": ("aurora-uan-0009", {}),
    "polaris": ("polaris-login-02", {}),
    "capella": ("login2.capella.hpc.tu-dresden.de", {}),
    "fir": ("login1.fir.alliancecan.ca", {}),
    "trillium": ("trig-login01", {}),
    "puhti": ("puhti-login14", {}),
    "roihu": ("roihu-gpu-login1", {}),
    "setonix": ("setonix-05", {}),
    "setonix, by its variable": ("nid001011", {"PAWSEY_CLUSTER": "setonix"}),
    "snellius": ("int5.local.snellius.surf.nl", {}),
    "tuolumne": ("tuolumne1004", {}),
    "vista": ("login1.vista.tacc.utexas.edu", {}),
    "vista, by its variable": ("login1", {"TACC_SYSTEM": "vista"}),
    "stampede3, in its domain": ("login1.stampede3.tacc.utexas.edu", {}),
    "santis, by its variable": ("santis-ln001", {"CLUSTER_NAME": "santis"}),
    "daint, by its name": ("daint-ln004", {}),
    "narval, in its domain": ("narval1.narval.alliancecan.ca", {}),
    "tamia, by its address": ("tamia.alliancecan.ca", {}),
    "sophia, by its name": ("sophia-login-01", {}),
}


@pytest.fixture(scope="module")
def shipped() -> list[Candidate]:
    known, broken = known_profiles(Catalog([built_in_folder()]))
    assert broken == []
    return known


@pytest.mark.parametrize("login", LOGIN_NODES)
def test_a_system_is_recognised_on_its_login_nodes(
    login: str, shipped: list[Candidate]
) -> None:
    host, signs = LOGIN_NODES[login]
    machine = Machine(None, host, ("eth0",), signs.__contains__, signs.get)
    found = ask(shipped, machine).single_match()
    assert found
    assert found.name == login.partition(",")[0]
    assert found.evidence == ("mark" if signs else "host")
    assert not signs or any(sign in found.why for sign in signs)


@pytest.mark.parametrize(
    ("host", "signs"),
    [
        ("login1", {}),
        ("uan01", {"/etc/clustername": "muller", "NERSC_HOST": "cori"}),
        ("jwlogin01", {"/etc/FZJ/systemname": "juwels"}),
        ("login1.frontera.tacc.utexas.edu", {"TACC_SYSTEM": "frontera"}),
        ("eiger-ln001", {"CLUSTER_NAME": "eiger"}),
    ],
)
def test_a_login_node_of_another_system_is_none(
    host: str, signs: dict[str, str], shipped: list[Candidate]
) -> None:
    machine = Machine(None, host, ("eth0",), signs.__contains__, signs.get)
    assert ask(shipped, machine).matches == ()


def test_no_two_systems_share_a_sign(shipped: list[Candidate]) -> None:
    signs = [
        (kind, sign)
        for each in shipped
        for kind, signs in (
            ("cluster", each.detect.clusters),
            ("host", each.detect.hosts),
            ("mark", each.detect.marks.items()),
        )
        for sign in signs
    ]
    assert len(signs) == len(set(signs))


def test_every_mark_has_a_source(shipped: list[Candidate]) -> None:
    lacking = [e.name for e in shipped if e.detect.marks and not e.detect.reason]
    assert lacking == ["lumi-g"]  # whose file says so: the folder of its own images


@pytest.mark.parametrize(
    ("cluster", "marks", "found"),
    [
        (None, {"/e": "one"}, "/e says one"),
        (None, {"V": "one"}, "V says one"),
        (None, {"/there": "whatever"}, "there is /there"),
        (None, {"/e": "two", "V": "two"}, None),
        ("x", {"/e": "one"}, None),
        ("one", {}, "the cluster is one"),
    ],
)
def test_one_mark_is_enough_where_no_cluster_is_named(
    cluster: str | None, marks: dict[str, str], found: str | None
) -> None:
    signs = {"/e": "one", "V": "one", "/there": ""}
    known = [Candidate("p", Detect(clusters=("one",), marks=signs))]
    machine = Machine(cluster, "h", mark=marks.get)
    answer = ask(known, machine).single_match()
    assert (answer and answer.why) == found
    nameless = [known[0]._replace(detect=Detect(marks=signs))]
    assert bool(ask(nameless, machine).matches) is (
        "one" in marks.values() or "/there" in marks
    )


def test_a_profile_that_was_read_yields_to_a_person_s() -> None:
    detect = Detect(clusters=("one",))
    read, own = Candidate("here-one", detect), Candidate("own", detect)
    machine = Machine("one", "h")
    assert [each.name for each in ask([read, own], machine).matches] == ["own"]
    assert [each.name for each in ask([read], machine).matches] == ["here-one"]

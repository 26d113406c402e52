"""What the data files say is complete, and every name that anybody uses is known."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
import yaml

from envcfg.knowledge.values import TYPES
from envcfg.knowledge.variable_record import (
    FOLDER,
    MISSPELT,
    READERS,
    Variable,
    load_readers,
)
from envcfg.knowledge.variables import (
    UNDOCUMENTED,
    check_variable,
    find_variable,
    load_variables,
)
from envcfg.profile.folders import built_in_folder

KEYS = (
    "name meaning type values legacy ignore_case min max separator markers also default "
    "versions history renamed instead read_by related source"
).split()
HERE = Path(__file__).parent
FILES = sorted(Path(FOLDER).glob("*.yaml"))
VARIABLES = load_variables()
READ = [each for each in VARIABLES.values() if each.is_read]
SLIPS = [each for each in VARIABLES.values() if not each.is_read]
NAMES = [
    line
    for line in (HERE / "names.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
# Names that look like the first word of a sentence.
PROPER = {"Apptainer"}


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_file_says_what_it_is_and_keeps_the_order(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert re.match(r"# [A-Z].*\.\nfamilies:\n", text)
    data = yaml.safe_load(text)
    allowed = {"families", "read_by", "sources", "variables", "undocumented"}
    assert set(data) <= allowed
    assert set(data["families"].values()) <= {"open", "closed"}
    names = [entry["name"] for entry in data["variables"]]
    assert names == sorted(names)
    for entry in data["variables"]:
        keys = list(entry)
        assert keys == [key for key in KEYS if key in keys], entry["name"]
        assert all(value not in ("", None, [], {}) for value in entry.values())
        assert set(entry.get("versions", {})) <= {"since", "deprecated", "removed"}
    hidden = data.get("undocumented", {"names": []})
    assert hidden["names"] == sorted(hidden["names"])
    used = {entry.get("source") for entry in data["variables"]} | {hidden.get("source")}
    assert set(data["sources"]) <= used | {next(iter(data["sources"]))}
    for source in data["sources"].values():
        assert set(source) == {"source", "date"}
        assert isinstance(source["date"], date)


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_scalars_are_texts_where_yaml_would_make_them_something_else(
    file: Path,
) -> None:
    for entry in yaml.safe_load(file.read_text(encoding="utf-8"))["variables"]:
        words = [
            *entry.get("values", ()),
            *entry.get("also", ()),
            *entry.get("legacy", {}),
            *entry.get("legacy", {}).values(),
            *entry.get("versions", {}).values(),
            entry.get("default", ""),
        ]
        assert [word for word in words if not isinstance(word, str)] == []


def test_no_name_stands_twice() -> None:
    names: Counter[str] = Counter()
    for file in FILES:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
        names.update(entry["name"] for entry in data["variables"])
        names.update(data.get("undocumented", {"names": []})["names"])
    assert [name for name, count in names.items() if count > 1] == []
    assert list(VARIABLES) == sorted(names)


def test_every_variable_is_complete() -> None:
    for variable in VARIABLES.values():
        name, meaning = variable.name, variable.meaning
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
        assert meaning, name
        assert not meaning.endswith((".", " ")), name
        first = re.match(r"[A-Z][a-z]+\b", meaning)
        assert first is None or first[0] in PROPER, (name, meaning)
        assert variable.type in {*TYPES, MISSPELT}, name
        assert variable.source, name
        assert date.fromisoformat(variable.date), name
        assert variable.read_by or not variable.is_read, name


def test_what_variables_take_fits_their_types() -> None:
    for variable in READ:
        words, name = variable.values, variable.name
        assert bool(words) == (variable.type in {"choice", "choices"}), name
        assert set(variable.legacy.values()) <= set(words), name
        if variable.min is not None or variable.max is not None:
            assert variable.type == "integer", name
        if variable.min is not None and variable.max is not None:
            assert variable.min < variable.max, name
        assert variable.max is None or variable.min is not None, name
        for word in filter(None, (variable.default, *variable.also)):
            severities = [each.severity for each in check_variable(name, word)]
            assert "error" not in severities, (name, word)


def test_names_that_variables_refer_to_are_read() -> None:
    for variable in VARIABLES.values():
        newer = {variable.renamed, variable.instead} - {None}
        for name in {*variable.related, *newer}:
            assert name != variable.name
            assert VARIABLES[str(name)].is_read, name
        assert not any(VARIABLES[str(name)].renamed for name in newer), variable.name


def test_readers_are_described_and_each_reads_something() -> None:
    readers = load_readers()
    assert list(readers) == sorted(readers)
    assert {name for each in READ for name in each.read_by} == set(readers)
    for entry in yaml.safe_load(Path(READERS).read_text(encoding="utf-8")):
        keys = (
            "name turns_on turns_off ignore_case tilde wrong read_up_to source".split()
        )
        assert list(entry) == [key for key in keys if key in entry]
        assert bool(entry.get("turns_on")) == bool(entry.get("turns_off"))
    for each in READ:
        if each.type == "boolean":
            assert readers[each.read_by[0]].turns_on, each.name


def test_a_variable_is_found_by_its_whole_name_alone() -> None:
    assert {name: find_variable(name) for name in VARIABLES} == VARIABLES
    for name in ("NCCL", "NCCL_DEBU", "guide", "NCCL_DEBUG\n    meaning: >-", ""):
        assert find_variable(name) is None


def test_names_of_a_family_stand_under_it() -> None:
    families = {}
    for file in FILES:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
        families |= data["families"]
        for beginning in data["families"]:
            assert beginning.endswith("_"), beginning
    closed = {name for name, state in families.items() if state == "closed"}
    assert {"NCCL_", "OFI_NCCL_", "FI_CXI_", "TORCH_NCCL_"} <= closed
    # Their newest releases can be read in parts only.
    assert not {"RCCL_", "MIOPEN_", "UCX_"} & closed


def test_what_no_guide_explains_says_so_and_takes_anything() -> None:
    hidden = [each for each in READ if each.meaning == UNDOCUMENTED]
    assert len(hidden) > 100
    assert {each.type for each in hidden} == {"text"}


def test_names_of_the_sources_are_known() -> None:
    assert len(NAMES) > 500
    assert [name for name in NAMES if name not in VARIABLES] == []


def test_releases_are_told_of_names_that_have_any() -> None:
    found = VARIABLES["NCCL_CUMEM_ENABLE"].history
    assert "NCCL: default 0 since 2.18.1, default -2 since 2.19.1" in found
    assert any(each.startswith("RCCL of ROCm: ") for each in found)
    told = "libfabric: read since 1.10.0, default all since 2.0.0"
    assert VARIABLES["FI_EFA_IFACE"].history == (told,)
    assert VARIABLES["RCCL_DDA_THRESHOLD"].default == "-1"


def names_set_by_profiles() -> set[str]:
    """Return every name that a profile sets, unsets or clears."""
    found = set()
    for file in Path(built_in_folder()).glob("*.yaml"):
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
        found |= set(data.get("env") or {})
        visibility = data.get("visibility") or {}
        found |= {visibility.get("variable"), visibility.get("numbers")} - {None}
        found |= set(visibility.get("clear", ()))
    return found


@pytest.mark.parametrize("name", sorted(names_set_by_profiles()))
def test_a_name_that_profiles_set_is_read(name: str) -> None:
    assert VARIABLES[name].is_read
    assert check_variable(name, None) == []


@pytest.mark.parametrize("slip", SLIPS, ids=[each.name for each in SLIPS])
def test_a_slip_is_an_error_that_names_the_right_name(slip: Variable) -> None:
    (problem,) = check_variable(slip.name, "x")
    assert problem.severity == "error"
    assert slip.name in problem.message
    assert slip.meaning in problem.message
    assert problem.fix
    if slip.instead:
        assert slip.instead in problem.fix


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("FI_CXI_RDV_PROTO", "FI_CXI_RDZV_PROTO"),
        ("MIOOPEN_USER_DB_PATH", "MIOPEN_USER_DB_PATH"),
        ("MIOPEN_CACHE_DIR", "MIOPEN_CUSTOM_CACHE_DIR"),
        ("MIOPEN_USER_CACHE_PATH", "MIOPEN_CUSTOM_CACHE_DIR"),
        ("MIOPEN_USER_DB", "MIOPEN_USER_DB_PATH"),
        ("NCCL_ENABLE_DMABUF_SUPPORT", "NCCL_DMABUF_ENABLE"),
        ("NCCL_IB_HCAS", "NCCL_IB_HCA"),
        ("NCCL_MAX_P2P_CHANNELS", "NCCL_MAX_P2P_NCHANNELS"),
        ("NCCL_P2P_CHUNKSIZE", "NCCL_P2P_NET_CHUNKSIZE"),
        ("NET_OPTIONAL_RECV_COMPLETION", "NCCL_NET_OPTIONAL_RECV_COMPLETION"),
        ("RCCL_DEBUG", "NCCL_DEBUG"),
    ],
)
def test_slips_that_scripts_and_guides_hold_are_known(name: str, right: str) -> None:
    assert VARIABLES[name].instead == right


@pytest.mark.parametrize(
    ("name", "reader", "default", "since"),
    [
        ("NCCL_RAS_ENABLE", "nccl", "1", "2.24"),
        ("NCCL_RAS_ADDR", "nccl", "localhost:28028", "2.24"),
        ("NCCL_RAS_TIMEOUT_FACTOR", "nccl", "1", "2.24"),
        ("NCCL_RUN_DIAGNOSTICS", "nccl", "0", "2.31"),
        ("NCCL_RUN_RAS_DIAGNOSTICS", "nccl", "0", "2.31"),
        ("NCCL_DIAGNOSTICS_ECC_THRESHOLD", "nccl", "0", "2.31"),
        ("NCCL_DIAGNOSTICS_IB_BW_TIMEOUT", "nccl", "5", "2.32"),
        ("NCCL_IB_RESILIENCY_PORT_FAILOVER", "nccl", "0", "2.29"),
        ("NCCL_GIN_PROXY_QUEUE_SIZE", "nccl", None, None),
        ("NCCL_IB_PKEY_VALUE", "nccl", "-1", "2.31"),
        ("NCCL_INSPECTOR_ENABLE", "nccl-inspector", "0", None),
        ("NCCL_FASTRAK_IFNAME", "google-nccl", None, None),
        ("NCCL_GPUDIRECTTCPX_CTRL_DEV", "google-nccl", None, None),
        ("NCCL_TUNER_CONFIG_PATH", "google-nccl", None, None),
        ("NCCL_IBEXT_DISABLE", "nccl-rdma-sharp", "0", None),
        ("SHARP_COLL_ENABLE_SAT", "sharp", None, None),
        ("NCCL_IB_QPS_PER_P2P", "rccl", "0", None),
        ("TORCH_FR_BUFFER_SIZE", "pytorch", "2000", "2.10"),
        ("TORCH_NCCL_TRACE_BUFFER_SIZE", "pytorch", "2000", None),
        ("TORCH_NCCL_USE_COMM_NONBLOCKING", "pytorch", "0", None),
        ("HOROVOD_GPU_OPERATIONS", "horovod", None, None),
        ("DS_BUILD_OPS", "deepspeed", "0", None),
        ("LD_PRELOAD", "ld.so", None, None),
    ],
)
def test_what_newer_versions_and_clouds_read_is_known(
    name: str, reader: str, default: str | None, since: str | None
) -> None:
    found = VARIABLES[name]
    assert (found.read_by[0], found.default, found.since) == (reader, default, since)
    assert check_variable(name, found.default) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_FASTRAK_IFNAME", "=eth1"),  # names are exact, without a mark
        ("NCCL_RUN_DIAGNOSTICS", "true"),
        ("NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS", "500us"),
        ("TORCH_FR_BUFFER_SIZE", "-1"),
        ("NCCL_PLUGIN_P2P", "verbs"),
    ],
)
def test_what_newer_variables_do_not_take_is_an_error(name: str, value: str) -> None:
    assert [each.severity for each in check_variable(name, value)] == ["error"]


def test_everything_is_read_once() -> None:
    assert load_variables() is load_variables()

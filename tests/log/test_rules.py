"""The rules themselves: each knows its samples, and nobody else's."""

from __future__ import annotations

import importlib
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args

import pytest
import yaml

from envcfg.common.findings import Severity
from envcfg.log.judge.reasons import WHEN
from envcfg.log.read.prefix import parse
from envcfg.log.read.rulebook import FOLDER, LogRule, Match, Rulebook, load_rules
from suites import in_groups

FILES = sorted(Path(FOLDER).glob("*.yaml"))
RULES = load_rules()
# A file may set these keys of a rule; gates and topic belong to the file.
KEYS = [name.rstrip("_") for name in LogRule._fields[: LogRule._fields.index("gates")]]
LINE_RULES = [rule for rule in RULES if rule.pattern]
BOOK = Rulebook(RULES)

# Event: what its rules may capture.
EVENTS = {
    "absent": "came first rank root size",
    "affinity": "rank pid mask",
    "attempt": "",
    "bootstrap": "interface",
    "channel": "a a_gpu b b_gpu direction network nic proxy gdr nranks",
    "channel-local": "a b transport",
    "communicator": "comm rank nranks dev bus comm_id phase",
    "collective": "group rank seq op numel_in numel_out enqueued completed ms",
    "deduplicated": "count",
    "ended": "host tasks rank local code signal said address",
    "error-trace": "file code where",
    "exception": "",
    "failure": "host root rank local code signal",
    "gdr-device": "network state nic reason",
    "gdr-off": "",
    "hint-acs": "",
    "hint-bar1": "",
    "hint-gid": "",
    "hint-imex": "",
    "hint-rails": "",
    "hint-same-node": "",
    "hint-timeout": "",
    "ib-devices": "devices",
    "ib-none": "",
    "lacking": "host tasks rank local code signal said",
    "network": "network",
    "network-assigned": "network",
    "network-not-found": "name",
    "nodes": "nodes",
    "plugin-active": "",
    "plugin-failed": "name",
    "plugin-file": "path",
    "plugin-loaded": "name api",
    "plugin-missing": "libraries reason",
    "plugin-package": "package version",
    "plugin-requested": "name",
    "plugin-unsupported": "name",
    "port-taken": "",
    "protocol": "protocol",
    "provider": "provider fabric nics",
    "provider-none": "",
    "rank-row": "rank pid host dev",
    "rings": "gdr pxn",
    "setting": "name value",
    "socket-interfaces": "interfaces",
    "stopped": "host said step",
    "store-unreachable": "",
    "topology": "comm rank nranks nodes local_ranks local_rank",
    "trees": "",
    "version": "nccl rccl cuda hip rocm libfabric driver path",
}
# Without these the event says nothing.
NEEDED = {
    "affinity": "mask",
    "bootstrap": "interface",
    "channel": "a b network nic gdr",
    "channel-local": "a b transport",
    "communicator": "comm rank nranks",
    "gdr-device": "state",
    "network": "network",
    "network-assigned": "network",
    "plugin-loaded": "name api",
    "plugin-package": "package version",
    "provider": "provider",
    "setting": "name value",
    "socket-interfaces": "interfaces",
    "topology": "comm rank nranks nodes",
}
LIBRARIES = {"nccl", "rccl", "rocm"}
HOSTS = {"", "nid001234", "gpu-07", "x1000c0s2b1n0"}
# Names that look like the first word of a sentence.
NAMES = {"Apptainer", "Charliecloud", "Docker", "Enroot", "Gloo", "Google"} | {
    "Pyxis",
    "Ray",
    "Slurm",
}
LONG = 20_000  # twice what is looked at of a line without end


SAMPLES = [(rule, line) for rule in LINE_RULES for line in rule.samples]


def message_of(rule: LogRule, line: str) -> str:
    """Return what the rule is held against; a wrapper's own words are taken off."""
    return line if rule.event == "deduplicated" else parse(line).message


def matches_of(rule: LogRule, line: str, end: int | None = None) -> list[Match]:
    """Return what matches a line, its message cut at *end*."""
    message = message_of(rule, line)
    return list(BOOK.matches(message[:end], parse(line).where))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_file_says_what_it_is_and_keeps_the_order_of_keys(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert re.match(r"# [A-Z].*\.\ntopic: ", text)
    data = yaml.safe_load(text)
    phases = {
        data.get("phase", "init"),
        *(e.get("phase", "init") for e in data["rules"]),
    }
    assert phases <= {"start", "init", "running", "end", "teardown", "always"}
    heads = [key for key in data if key not in ("class", "phase")]
    assert heads in (["topic", "gates", "rules"], ["topic", "rules"])
    for rule in data["rules"]:
        keys = list(rule)
        assert keys == [key for key in KEYS if key in keys], rule["id"]
        assert all(value not in ("", False, None, [], {}) for value in rule.values())


def test_ids_are_unique_and_in_kebab_case() -> None:
    counts = Counter(rule.id for rule in RULES)
    assert [name for name, count in counts.items() if count > 1] == []
    assert [n for n in counts if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", n)] == []


def test_a_rule_says_what_it_means_and_who_says_so() -> None:
    for rule in RULES:
        assert rule.meaning, f"{rule.id}: meaning is missing"
        assert rule.source, f"{rule.id}: source is missing"
        for text in (rule.meaning, rule.fix or ""):
            has_end = text.endswith((".", " ", "\n"))
            assert not has_end, f"{rule.id}: ends with a full stop or a space: {text}"
            first = re.match(r"[A-Z][a-z]+\b", text)
            is_name = first is None or first[0] in NAMES
            assert is_name, f"{rule.id}: begins with a capital that is no name: {text}"
        assert rule.severity in (None, *get_args(Severity)), rule.id
        assert rule.fix or not rule.severity, rule.id
        is_harmful = rule.consequence or rule.severity == "error"
        assert not (rule.benign and is_harmful), rule.id
        assert not rule.consequence or rule.severity, rule.id
        assert not rule.reaction or rule.consequence, rule.id
        assert not rule.ends or rule.severity == "error", rule.id


def test_versions_are_ranges_of_a_library() -> None:
    for rule in RULES:
        assert set(rule.versions) <= LIBRARIES, rule.id
        for text in rule.versions.values():
            low, dash, high = text.partition("-")
            assert dash, rule.id
            assert re.fullmatch(r"\d+\.\d+", low), rule.id
            assert not high or re.fullmatch(r"\d+\.\d+", high), rule.id
            assert not high or numbers(low) <= numbers(high), rule.id


def numbers(version: str) -> list[int]:
    """Return the numbers of a version."""
    return [int(part) for part in version.split(".")]


def test_a_rule_without_pattern_has_words_only() -> None:
    for rule in RULES:
        if not rule.pattern:
            assert not rule.needle, rule.id
            assert not rule.where, rule.id
            assert not rule.event, rule.id
            assert not rule.samples, rule.id
            assert not rule.counter, rule.id


def test_events_and_captures_are_known() -> None:
    for rule in LINE_RULES:
        groups = set(re.compile(rule.pattern).groupindex)
        assert groups <= set(EVENTS[rule.event].split() if rule.event else ()), rule.id


def test_every_rule_has_a_needle_and_a_sample() -> None:
    for rule in LINE_RULES:
        assert len(rule.needle or rule.where) >= 3, rule.id
        assert rule.samples, rule.id


def test_every_event_has_a_rule() -> None:
    assert {rule.event for rule in LINE_RULES} - {None} == set(EVENTS)


def test_a_sample_is_matched_by_its_rule_alone() -> None:
    for rule, line in SAMPLES:
        assert rule.needle in message_of(rule, line), rule.id
        assert rule.where in parse(line).where, rule.id
        matched = matches_of(rule, line)
        assert [match.rule.id for match in matched] == [rule.id]
        needed = {*NEEDED.get(rule.event or "", "").split()}
        needed -= {"gdr"}  # absent where the data goes through the host
        assert [n for n in needed if not matched[0].fields.get(n)] == [], rule.id


def test_samples_are_of_invented_hosts_and_read_in_full() -> None:
    for rule in LINE_RULES:
        for line in rule.samples + rule.counter:
            assert parse(line).host in HOSTS, rule.id
            is_nccl = re.search(r"NCCL (?:INFO|WARN)", line)
            assert parse(line).level or not is_nccl, rule.id


def test_a_near_miss_is_not_matched() -> None:
    for rule in LINE_RULES:
        for line in rule.counter:
            assert rule.id not in [match.rule.id for match in matches_of(rule, line)]


def test_no_file_names_where_a_line_was_found() -> None:
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"(?<!%h-%p)\.log\b|/home/(?!u/)", text)


# What must not come of a torn line: a good value of a bad one, a smaller number.
GOOD = {
    "gdr": r"/GDRDMA.*|1",
    "network": r"AWS Libfabric|Libfabric|OFI|IB.*",
    "phase": r"Init COMPLETE",
    "provider": r"cxi|efa|verbs",
    "state": r"Enabled",
}
COUNTED = {"communicator", "topology"}


@pytest.mark.parametrize("samples", in_groups(SAMPLES))
def test_a_cut_sample_says_nothing_better_than_the_whole(
    samples: list[tuple[LogRule, str]],
) -> None:
    for rule, line in samples:
        message = message_of(rule, line)
        whole = matches_of(rule, line)[0].fields
        for end in range(len(message)):
            for match in matches_of(rule, line, end):
                if match.rule.event == rule.event:
                    check_torn(match, whole, message[:end])


def check_torn(match: Match, whole: Mapping[str, str | None], torn: str) -> None:
    """Fail if the *match* of a *torn* line is better than the fields of the *whole*."""
    for name in GOOD.keys() & match.fields.keys():
        if re.fullmatch(GOOD[name], match.fields[name] or ""):
            assert re.fullmatch(GOOD[name], whole[name] or ""), torn
    if match.rule.event in COUNTED:
        said = {name: value for name, value in match.fields.items() if value}
        assert said.items() <= whole.items(), torn


@pytest.mark.parametrize(
    ("line", "severity", "fields"),
    [
        (
            "g:1:2 [0] NCCL INFO NET/Socket : Using [0]nmn0:10.1.1.1<0>",
            None,
            {"interfaces": "[0]nmn0:10.1.1.1<0>"},
        ),
        (
            "g:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 8[0] [send] via NET/IB/2",
            None,
            {"a": "1", "b": "8", "network": "IB", "nic": "2", "gdr": None},
        ),
        (
            "g:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 8[0] [send] via NET/Socket/0/Shared",
            None,
            {"network": "Socket", "gdr": None, "direction": "send"},
        ),
        (
            "g:1:2 [0] NCCL INFO comm 0xab rank 1 nRanks 8 nNodes 2 localRanks 4 localRank 1",
            None,
            {"nodes": "2", "local_ranks": "4", "local_rank": None},
        ),
        (
            "g:1:2 [0] NCCL INFO comm 0xab rank 1 nranks 8 cudaDev 3 busId 7000 - Abort COMPLETE",
            None,
            {"phase": "Abort COMPLETE", "comm_id": None, "dev": "3"},
        ),
        (
            "NET/OFI Selected provider is tcp, fabric is 10.0.0.0/8 (found 1 n",
            None,
            {"provider": "tcp", "fabric": "10.0.0.0/8", "nics": None},
        ),
        (
            "g:1:2 [0] NCCL INFO Using network IBext_v8 [repeated 2x across cluster]",
            None,
            {"network": "IBext_v8"},
        ),
        (
            "g:1:2 [0] NCCL INFO NCCL_NET set by environment to AWS Libfabric.",
            None,
            {"name": "NCCL_NET", "value": "AWS Libfabric"},
        ),
        (
            "g:1:2 [0] NCCL INFO NET/Plugin: Could not find: a libb.so. Using internal net plugin.",
            None,
            {"libraries": "a libb.so"},
        ),
    ],
)
def test_values_are_read(
    line: str, severity: str | None, fields: dict[str, str | None]
) -> None:
    match = BOOK.match(parse(line).message)
    assert match is not None
    assert match.rule.severity == severity
    assert {name: match.fields[name] for name in fields} == fields


def repeats(pattern: str) -> Iterator[tuple[int, int]]:
    """Yield, for each repeat in a *pattern*, its highest count and that of its body."""
    parser = importlib.import_module(
        "re._parser" if sys.version_info >= (3, 11) else "sre_parse"
    )
    pending = [(parser.parse(pattern), 0)]
    while pending:
        node, around = pending.pop()
        highest = around
        if isinstance(node, tuple) and str(node[0]).endswith("_REPEAT"):
            highest = max(around, int(node[1][1]))
            yield around, int(node[1][1])
            pending.append((node[1][2], highest))
        elif isinstance(node, (tuple, list, parser.SubPattern)):
            pending += [(each, highest) for each in node]


def test_no_pattern_repeats_a_repeat_without_bounds() -> None:
    for rule in LINE_RULES:
        assert max(map(min, repeats(rule.pattern)), default=0) <= 1 << 16, rule.id


def test_the_search_for_repeats_finds_them() -> None:
    assert any(min(pair) > 99999 for pair in repeats(r"x(?:a+|b)*y"))
    assert not any(min(pair) > 99999 for pair in repeats(r"x(?:a+|b){0,9}y*"))


def seconds(pattern: re.Pattern[str], text: str) -> float:
    """Return the time of one search."""
    start = time.process_time()
    pattern.search(text)
    return time.process_time() - start


@pytest.mark.nightly
@pytest.mark.parametrize("rule", LINE_RULES, ids=lambda rule: rule.id)
def test_a_search_grows_no_faster_than_its_text(rule: LogRule) -> None:
    pattern = re.compile(rule.pattern)
    for line in rule.samples:
        message = message_of(rule, line)
        for cut in (1, 2 / 3, 1 / 2):
            head = message[: max(3, int(len(message) * cut))]
            for tail in (head, rule.needle or head, message[-1], " ", "a ", "0"):
                text = head + tail * (LONG // len(tail))
                short = seconds(pattern, text[: LONG // 2])
                assert seconds(pattern, text[:LONG]) < 5 * max(short, 0.05), (cut, tail)


REASONS = [rule for rule in RULES if rule.explains]


@pytest.mark.parametrize("rule", REASONS, ids=lambda rule: rule.id)
def test_what_explains_names_rules_that_are_there(rule: LogRule) -> None:
    assert set(rule.explains) <= BOOK.rules.keys()
    assert rule.id not in rule.explains
    assert rule.when.keys() <= WHEN
    events = [
        name
        for key in ("seen", "unseen", "elsewhere")
        for name in rule.when.get(key, ())
    ]
    assert set(events) <= EVENTS.keys() | {"gdr-off-nic"}
    assert rule.ends or bool(rule.says) == bool(rule.when and rule.severity)
    for text in rule.when.values():
        if isinstance(text, str):
            re.compile(text)

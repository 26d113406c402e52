"""What is mounted: from text to source, target and options, and to each runtime's words."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.backends.runtimes import NAMES, runtime
from envcfg.common.bind import Bind, parse_bind, parse_binds

paths = st.text("/ab:,\\ é\n", min_size=1, max_size=8)
options = st.lists(st.sampled_from(["ro", "rw", "id=1"]), max_size=2).map(tuple)
targets = st.just("") | paths
binds = st.builds(
    Bind, source=paths, target=targets, options=options, refers=st.just(False)
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/a", [Bind("/a")]),
        ("/a:/b", [Bind("/a", "/b")]),
        ("/a:/b:ro", [Bind("/a", "/b", ("ro",))]),
        ("/a::ro", [Bind("/a", "", ("ro",))]),
        ("/a,/b:/c", [Bind("/a"), Bind("/b", "/c")]),
        ("/a:/b:ro,id=1,/c", [Bind("/a", "/b", ("ro", "id=1")), Bind("/c")]),
        ("/a\\,b:/c\\:d", [Bind("/a,b", "/c:d")]),
        ("/a\\\\b\\c", [Bind("/a\\b\\c")]),
    ],
)
def test_a_list_of_binds_is_read(text: str, found: list[Bind]) -> None:
    assert parse_binds(text) == found


@pytest.mark.parametrize("text", ["", ":/b", "/a:/b:ro:more", "/a,"])
def test_what_is_no_bind_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a bind: SOURCE"):
        parse_binds(text)


@given(binds)
def test_a_bind_is_written_as_it_is_read(bind: Bind) -> None:
    assert parse_bind(str(bind)) == bind


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("${A}", Bind("${A}", refers=True)),
        ("${A:-/a}/b:/c:ro", Bind("${A:-/a}/b", "/c", ("ro",), refers=True)),
        ("/${A}:/c\\:d", Bind("/${A}", "/c:d", refers=True)),
    ],
)
def test_a_source_may_refer_to_variables(text: str, found: Bind) -> None:
    assert parse_bind(text, refers=True) == found
    assert str(found) == text


@pytest.mark.parametrize(
    "name", [name for name in NAMES if runtime(name).template == "apptainer"]
)
@given(binds)
def test_apptainer_s_words_are_split_where_they_should_be(
    name: str, bind: Bind
) -> None:
    """It splits at commas, then at colons; a backslash keeps either in a path."""
    if any(sign in f"{bind.source}:{bind.target}:" for sign in ("\\:", "\\,")):
        with pytest.raises(ValueError, match="backslash"):
            runtime(name).format_bind(bind)
        return
    text = runtime(name).format_bind(bind)
    plain = text.replace("\\:", "").replace("\\,", "")
    fields = plain.partition(",")[0].split(":")
    targets = 1 if bind.target or bind.options else 0
    assert len(fields) == 1 + targets + bool(bind.options)
    assert plain.count(",") == max(0, len(bind.options) - 1)


@pytest.mark.parametrize(
    ("bind", "text"),
    [
        (Bind("/a"), "/a"),
        (Bind("/a", "/b"), "/a:/b"),
        (Bind("/a", "", ("ro",)), "/a:/a:ro"),
        (Bind("/a,b", "/c:d", ("ro",)), "/a\\,b:/c\\:d:ro"),
    ],
)
def test_apptainer_gets_sources_targets_and_options(bind: Bind, text: str) -> None:
    assert runtime("apptainer").format_bind(bind) == text


@pytest.mark.parametrize(
    ("name", "bind", "text"),
    [
        ("charliecloud", Bind("/a"), "/a:/a"),
        ("charliecloud", Bind("/a,b c", "/d\\", ("rw",)), "/a,b c:/d\\"),
        ("podman", Bind("/a", "", ("ro",)), "type=bind,source=/a,target=/a,readonly"),
        ("podman", Bind("/a:b", "/c d"), "type=bind,source=/a:b,target=/c d"),
        ("podman", Bind('/a,"b'), 'type=bind,"source=/a,""b","target=/a,""b"'),
        ("pyxis", Bind("/a"), "/a"),
        ("pyxis", Bind("/a b", "/c\\d"), "/a b:/c\\d"),
        ("pyxis", Bind("/a", "", ("ro", "private")), "/a:/a:ro+private"),
        ("ce", Bind("/a", "/b", ("ro",)), "/a:/b:ro"),
        ("docker", Bind("/a", "", ("rw",)), "type=bind,source=/a,target=/a"),
        ("podman-hpc", Bind("/a:b", "/c d"), "type=bind,source=/a:b,target=/c d"),
        ("shifter", Bind("/a"), "/a:/a"),
        ("shifter", Bind("/a", "/b-1.0+x_y", ("ro",)), "/a:/b-1.0+x_y:ro"),
        ("shifter", Bind("/etc/a", "/var/tmp/a"), "/etc/a:/var/tmp/a"),
        ("shifter", Bind("/a", "/opt/b", ("rw",)), "/a:/opt/b"),
    ],
)
def test_a_bind_is_written_as_each_runtime_takes_it(
    name: str, bind: Bind, text: str
) -> None:
    assert runtime(name).format_bind(bind) == text


@pytest.mark.parametrize(
    ("name", "bind", "why"),
    [
        ("charliecloud", Bind("/a:b"), "it would split the path at the colon"),
        ("charliecloud", Bind("/a", "/b:c"), "it would split the path at the colon"),
        ("charliecloud", Bind("/a", "", ("ro",)), "it has no option 'ro'"),
        ("pyxis", Bind("/a,b"), "it cannot write ,"),
        ("pyxis", Bind("/a", "/b:c"), "it cannot write :"),
        ("pyxis", Bind("/$HOME"), "it cannot write \\$"),
        ("pyxis", Bind("/a", "", ("a`",)), "it cannot write `"),
        ("ce", Bind('/a"'), 'it cannot write "'),
        ("podman", Bind("/a", "", ("z",)), "envcfg cannot write its option 'z'"),
        ("shifter", Bind("/a:b"), "it would split the path at the colon"),
        ("shifter", Bind("/a b"), "it would leave ' ' out of the path"),
        ("shifter", Bind("/a", "/b;c"), "it would leave ';' out of the path"),
        ("shifter", Bind("/\u00e9"), "it would leave '\u00e9' out of the path"),
        ("shifter", Bind("/a/../b"), "it takes no path with two dots"),
        ("shifter", Bind("/etc"), "it refuses mounts on /opt, below /etc, /var"),
        ("shifter", Bind("/a", "/var/lib/a"), "it refuses mounts on /opt"),
        ("shifter", Bind("/a", "/var/tmpa"), "it refuses mounts on /opt"),
        ("shifter", Bind("/a", "/opt/udiImage/a"), "it refuses mounts on /opt"),
        ("shifter", Bind("/a", "/opt/"), "it refuses mounts on /opt"),
        (
            "shifter",
            Bind("/a", "", ("rec",)),
            "envcfg cannot write its option 'rec'",
        ),
    ],
)
def test_what_a_runtime_cannot_bind_is_refused(name: str, bind: Bind, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        runtime(name).format_bind(bind)


@given(binds)
def test_podman_s_line_has_the_fields_that_it_should(bind: Bind) -> None:
    """As encoding/csv of Go reads it, which is as Python's."""
    plain = bind._replace(options=tuple(set(bind.options) & {"ro", "rw"}))
    text = runtime("podman").format_bind(plain)
    fields = next(csv.reader(io.StringIO(text, newline="")))
    assert fields[:3] == [
        "type=bind",
        f"source={bind.source}",
        f"target={bind.target or bind.source}",
    ]
    assert fields[3:] == ["readonly"] * ("ro" in bind.options)


def test_every_record_has_the_name_by_which_it_is_asked_for() -> None:
    assert [runtime(name).name for name in NAMES] == list(NAMES)

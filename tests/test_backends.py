"""Each backend is whole: its record, its modules, the words that others ask of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envcfg.backends import runtimes
from envcfg.backends.launchers import LAUNCHERS
from envcfg.backends.schedulers import SCHEDULERS
from envcfg.backends.schedulers.scheduler import JobNames
from envcfg.backends.starters import STARTERS
from envcfg.common.datafile import backends
from envcfg.job.script import modules

MODULES = Path(modules.__file__).parent / "modules"
# What the modules of a kind of backend must define, by file.
RUNTIME = "envcfg_enter envcfg_bind".split()
SHARED = "envcfg_bind_if".split()
HOST = "envcfg_survey envcfg_name_job envcfg_gpus envcfg_host envcfg_overlap".split()
RUNTIMES = {name: runtimes.runtime(name) for name in runtimes.NAMES}


def text_of(*path: str) -> str:
    return MODULES.joinpath(*path).with_suffix(".sh").read_text(encoding="utf-8")


def functions(text: str) -> list[str]:
    return re.findall(r"^(envcfg_\w+)\(\) \{", text, re.MULTILINE)


def test_backends_are_the_modules_of_their_folder_except_the_record(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "rooms"
    folder.mkdir()
    for name in ("__init__.py", "room.py", "b_x.py", "c.py", "a.py", "notes.txt"):
        (folder / name).touch()
    room = str(folder / "__init__.py")
    assert backends(room) == ("a", "b-x", "c")
    assert backends(room, ("c",)) == ("c", "a", "b-x")


@pytest.mark.parametrize("name", RUNTIMES)
def test_a_runtime_has_a_module_that_enters_and_mounts(name: str) -> None:
    known = RUNTIMES[name]
    assert known.name == name
    assert bool(known.program) != bool(known.option)
    text = text_of("runtimes", known.template)
    assert set(functions(text)) >= set(RUNTIME)
    assert set(functions(text_of("container"))) >= set(SHARED)
    # The launch line is read from these.
    enters = text.partition("envcfg_enter() {")[2].partition("\n}\n")[0]
    binds = text.partition("envcfg_bind() {")[2].partition("\n}\n")[0]
    first = re.escape(known.option or '"$envcfg_name"')
    assert re.search(rf"ENVCFG_ENTER=\({first}", enters)
    assert "\n  envcfg_mounts\n" in enters
    assert "envcfg_find_source" in binds
    if known.program:
        assert re.search(r'ENVCFG_ENTER\+=\(.*"\$envcfg_image".*\)', enters)
        assert re.search(r'ENVCFG_ENTER\+=\(.*"\$\{2-\$1\}"\)', binds)
    else:
        assert f"envcfg_find_option {known.option} " in enters


def test_no_module_of_a_runtime_is_left_over() -> None:
    files = {path.stem for path in (MODULES / "runtimes").glob("*.sh")}
    assert files == {"none", *(each.template for each in RUNTIMES.values())}


@pytest.mark.parametrize("name", STARTERS)
def test_a_starter_has_its_folder_of_modules(name: str) -> None:
    known = STARTERS[name]
    assert known.name == name
    files = {path.stem: text_of(name, path.stem) for path in (MODULES / name).iterdir()}
    assert files.keys() >= {name, "ranks"}
    assert ("agent" in files) == known.starts_agents
    told = functions(files[name]) + functions(files.get("steps", ""))
    assert "envcfg_chosen" in told or "ENVCFG_HOSTS=" in files[name]
    assert "envcfg_given+=" in files.get("task", files[name])
    assert set(told) >= set(HOST)
    assert "ENVCFG_NODE_NAME=" in files[name]
    for each in {"ranks", "agent"} & files.keys():
        assert "envcfg_launch" in functions(files[each])
        assert "envcfg_spawn exec " in files[each] + files[name]


def texts_of_launcher(name: str, *starters: str) -> list[str]:
    """Return its module, and those of its own that *starters*, or all, have for it."""
    folders = ["launchers", *(each for each in starters or STARTERS if each != name)]
    paths = [MODULES / folder / f"{name}.sh" for folder in folders]
    return [path.read_text() for path in paths if path.exists()]


@pytest.mark.parametrize("name", LAUNCHERS)
def test_a_launcher_has_the_module_that_it_needs(name: str) -> None:
    known, texts = LAUNCHERS[name], texts_of_launcher(name)
    assert known.starters
    if known.is_agent:
        assert texts
        assert all("$ENVCFG_AGENT_OPTIONS" in text for text in texts)
        assert all(STARTERS[each].starts_agents for each in known.starters)
    elif name not in STARTERS:
        assert all("envcfg_set" in text for text in texts)


def test_no_module_of_a_launcher_is_left_over() -> None:
    files = {path.stem for path in (MODULES / "launchers").glob("*.sh")}
    assert files <= LAUNCHERS.keys()


@pytest.mark.parametrize("name", STARTERS)
def test_a_starter_says_what_the_modules_of_its_launchers_ask(name: str) -> None:
    known = text_of(name, name)
    for launcher, each in LAUNCHERS.items():
        if launcher not in STARTERS and name in each.starters:
            text = "".join(texts_of_launcher(launcher, name))
            for asked in ("nodes", "id", "address"):
                used = f"envcfg_{asked}" in text
                assert f"envcfg_{asked}=" in known or not used, launcher


@pytest.mark.parametrize("name", SCHEDULERS)
def test_an_option_without_a_value_is_never_written_with_none(name: str) -> None:
    known = SCHEDULERS[name]
    asked = [("--nodes", "2"), ("--exclusive", None), ("--requeue", None)]
    lines = [*asked, ("--output", known.output and known.output[0])]
    spelled = [each.text for each in known.spell(lines, JobNames("job", 60))]
    assert spelled
    assert [each for each in spelled if "None" in each] == []

"""Layers, families, detection."""

from pathlib import Path

import pytest

import envcfg.profile.read.yaml_text
from envcfg.common.errors import ProfileError, UsageError
from envcfg.profile.catalog import Catalog
from envcfg.profile.detect import Machine, detect
from envcfg.profile.folders import profile_folders

REASON = "why: w, source: s, date: 2026-05-19"


def setting(name: str, value: str) -> str:
    return f"  {name}: {{value: {value}, {REASON}}}\n"


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    folders = [tmp_path / layer for layer in ("built-in", "site", "user")]
    for folder in folders:
        folder.mkdir()
    return Catalog([str(folder) for folder in folders])


def write(folder: Path | str, name: str, text: str) -> None:
    (Path(folder) / f"{name}.yaml").write_text(f"name: {name}\n{text}")


def values(catalog: Catalog, name: str) -> dict[str, object]:
    env = catalog.load(name).env
    return {key: each and each.cases[0].value for key, each in env.items()}


def test_layers_lie_over_each_other_entry_by_entry(catalog: Catalog) -> None:
    built_in, site, user = catalog.folders
    write(
        built_in,
        "m",
        "env:\n" + setting("A", "1") + setting("B", "1") + setting("C", "1"),
    )
    write(site, "m", "env:\n" + setting("B", "2") + "  C: null\n")
    write(user, "m", "summary: mine\nenv:\n" + setting("D", "3"))
    assert values(catalog, "m") == {"A": ("1",), "B": ("2",), "C": None, "D": ("3",)}
    assert catalog.load("m").summary == "mine"


def test_yaml_is_read_once_and_again_when_the_text_has_changed(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    texts: list[str] = []
    compose = envcfg.profile.read.yaml_text.compose

    def counted(text: str) -> object:
        texts.append(text)
        return compose(text)

    monkeypatch.setattr("envcfg.profile.read.yaml_text.compose", counted)
    write(catalog.folders[0], "m", "env:\n" + setting("A", "1"))
    write(catalog.folders[2], "m", "env:\n" + setting("B", "1"))
    first = Catalog(catalog.folders).load("m")
    assert len(texts) == 2
    assert Catalog(catalog.folders).load("m") == first
    assert len(texts) == 3  # the user's own is not kept
    write(catalog.folders[0], "m", "env:\n" + setting("A", "2"))
    assert values(Catalog(catalog.folders), "m")["A"] == ("2",)
    (tmp_path / "cache/envcfg/profiles/m.json").write_text("no longer what it was")
    assert values(Catalog(catalog.folders), "m")["A"] == ("2",)


@pytest.mark.parametrize("text", ["a: [", "a: *b", "{a: 1}", "- 1", "a: !t 1"])
def test_what_is_no_profile_is_refused_alike_kept_or_not(
    catalog: Catalog, text: str
) -> None:
    write(catalog.folders[0], "m", text)
    said = []
    for _ in range(2):
        with pytest.raises(ProfileError) as refused:
            Catalog(catalog.folders).load("m")
        said.append(str(refused.value.findings))
    assert said[0] == said[1]


def test_a_family_lies_below_all_layers_of_the_profile(catalog: Catalog) -> None:
    built_in, site, _ = catalog.folders
    write(built_in, "family", "env:\n" + setting("A", "f") + setting("B", "f"))
    write(built_in, "m", "extends: family\nenv:\n" + setting("B", "m"))
    write(site, "family", "env:\n" + setting("A", "site"))
    assert values(catalog, "m") == {"A": ("site",), "B": ("m",)}


def test_a_setting_keeps_the_place_where_it_was_given(catalog: Catalog) -> None:
    built_in, site, _ = catalog.folders
    write(built_in, "m", "env:\n" + setting("A", "1"))
    write(site, "m", "env:\n" + setting("A", "2"))
    found = catalog.load("m").env["A"]
    assert found
    assert found.cases[0].reason.place.path == f"{site}/m.yaml"


def test_a_file_can_be_named(catalog: Catalog, tmp_path: Path) -> None:
    write(catalog.folders[0], "family", "env:\n" + setting("A", "f"))
    write(tmp_path, "mine", "extends: family\n")
    assert values(catalog, str(tmp_path / "mine.yaml")) == {"A": ("f",)}
    with pytest.raises(UsageError, match="no such file"):
        catalog.load("./nothing.yaml")


def test_a_higher_layer_takes_back_a_block_by_null(catalog: Catalog) -> None:
    built_in, site, user = catalog.folders
    masks = f"launch: {{cpu_masks: {{masks: [0xff], {REASON}}}}}\n"
    write(built_in, "family", f"rendezvous: {{suffix: i, {REASON}}}\n{masks}")
    write(built_in, "m", "extends: family\n")
    assert catalog.load("m").rendezvous
    write(site, "m", "rendezvous: null\nlaunch: {cpu_masks: null}\n")
    assert catalog.load("m").rendezvous is None
    assert catalog.load("m").cpu_masks is None
    write(user, "m", f"rendezvous: {{suffix: -ib, {REASON}}}\n")
    rendezvous = catalog.load("m").rendezvous
    assert rendezvous
    assert rendezvous.suffix == "-ib"
    assert catalog.load("m").cpu_masks is None


def expect(keys: str, why: str) -> str:
    return f"expect: {{{keys}, why: {why}, source: s, date: 2026-05-19}}\n"


def expected(catalog: Catalog, name: str) -> dict[str, tuple[object, str]] | None:
    """Return each key with its value and why it is so."""
    found = catalog.load(name).expect
    if found is None:
        return None
    return {
        key: (value, found.reason_of(key).why) for key, value in found.said().items()
    }


def test_what_the_log_must_show_is_laid_over_the_family_s_key_by_key(
    catalog: Catalog,
) -> None:
    built_in, site, user = catalog.folders
    write(built_in, "family", expect("provider: efa, nics: 4, gdr: true", "family"))
    write(built_in, "m", "extends: family\n" + expect("nics: 32", "own"))
    family = {"provider": ("efa", "family"), "gdr": (True, "family")}
    assert expected(catalog, "m") == {**family, "nics": (32, "own")}
    write(site, "m", expect("gdr: false, networks: [OFI]", "site"))
    assert expected(catalog, "m") == {
        "networks": (("OFI",), "site"),
        "provider": ("efa", "family"),
        "nics": (32, "own"),
        "gdr": (False, "site"),
    }
    write(user, "m", expect("gdr: null, nics: null", "user"))
    assert expected(catalog, "m") == {
        "networks": (("OFI",), "site"),
        "provider": ("efa", "family"),
    }


def test_a_key_of_the_log_that_null_took_back_can_be_given_again(
    catalog: Catalog,
) -> None:
    built_in, site, user = catalog.folders
    write(built_in, "family", expect("provider: efa, nics: 4", "family"))
    write(built_in, "m", "extends: family\n" + expect("nics: null", "own"))
    assert expected(catalog, "m") == {"provider": ("efa", "family")}
    write(site, "m", expect("nics: 8", "site"))
    assert expected(catalog, "m") == {
        "provider": ("efa", "family"),
        "nics": (8, "site"),
    }
    write(user, "m", "summary: mine\n")
    assert expected(catalog, "m") == {
        "provider": ("efa", "family"),
        "nics": (8, "site"),
    }


def test_after_a_null_what_the_log_must_show_does_not_come_back(
    catalog: Catalog,
) -> None:
    built_in, site, user = catalog.folders
    write(built_in, "family", expect("provider: efa", "family"))
    write(built_in, "m", "extends: family\nexpect: null\n")
    assert expected(catalog, "m") is None
    write(site, "m", expect("nics: 8", "site"))
    assert expected(catalog, "m") == {"nics": (8, "site")}
    write(user, "m", expect("gdr: true", "user"))
    assert expected(catalog, "m") == {"nics": (8, "site"), "gdr": (True, "user")}
    write(built_in, "child", "extends: m\n" + expect("gdr: false", "child"))
    assert expected(catalog, "child") == {
        "nics": (8, "site"),
        "gdr": (False, "child"),
    }


def test_a_file_may_extend_the_profile_whose_name_it_has(
    catalog: Catalog, tmp_path: Path
) -> None:
    write(catalog.folders[0], "m", "env:\n" + setting("A", "1"))
    write(tmp_path, "m", "extends: m\nenv:\n" + setting("B", "2"))
    assert values(catalog, str(tmp_path / "m.yaml")) == {"A": ("1",), "B": ("2",)}


def test_an_unknown_profile_gets_a_suggestion(catalog: Catalog) -> None:
    write(catalog.folders[0], "lumi-g", "")
    with pytest.raises(UsageError, match="unknown profile 'lumi'") as caught:
        catalog.load("lumi")
    assert "did you mean 'lumi-g'?" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("lumi", "unknown profile 'lumi'", "did you mean 'lumi-g'? envcfg profiles list shows all"),
        ("LUMI-G", "unknown profile 'LUMI-G'", "did you mean 'lumi-g'? envcfg profiles list shows all"),
        ("clariden", "unknown profile 'clariden'", "did you mean 'alps-clariden'? envcfg profiles list"),
        ("zzzz", "unknown profile 'zzzz'", "envcfg profiles list shows all"),
        ("folder", "unknown profile 'folder'", "if the folder of this name is meant: ./folder"),
        ("file.txt", "unknown profile 'file.txt'", "if the file of this name is meant: ./file.txt"),
        ("./folder", "profile ./folder: this is a folder", "name a file in it"),
        ("./none.yaml", "profile ./none.yaml: no such file", "what has no / and no .yaml is a name"),
        ("lumi-g.yaml", "profile lumi-g.yaml: no such file", "did you mean 'lumi-g'?"),
    ],
)  # fmt: skip
def test_what_is_no_profile_gets_one_suggestion_and_no_list(
    catalog: Catalog,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    message: str,
    hint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file.txt").touch()
    for known in ("lumi-g", "alps-clariden", "frontier"):
        write(catalog.folders[0], known, "")
    with pytest.raises(UsageError) as caught:
        catalog.load(name)
    assert caught.value.message == message
    assert hint in str(caught.value.hint)
    assert "frontier" not in str(caught.value.hint)


@pytest.mark.parametrize(
    ("layers", "hint"),
    [((0,), "name another one"), ((0, 2), "leave extends out"), ((), "name another")],
)
def test_a_profile_that_extends_itself_is_told_so(
    catalog: Catalog, tmp_path: Path, layers: tuple[int, ...], hint: str
) -> None:
    write(catalog.folders[0], "dardel", "")
    for layer in layers:
        write(
            catalog.folders[layer], "itself", "" if layer == 0 else "extends: itself\n"
        )
    if layers in {(), (0,)}:
        folder = catalog.folders[0] if layers else tmp_path
        write(folder, "itself", "extends: itself\n")
    name = "itself" if layers else str(tmp_path / "itself.yaml")
    with pytest.raises(ProfileError, match="a profile cannot extend itself") as caught:
        catalog.load(name)
    (problem,) = caught.value.findings
    assert hint in str(problem.fix)
    assert "did you mean" not in str(problem.fix)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a": "extends: b\n", "b": "extends: a\n"}, "circle: a -> b -> a"),
        ({"a": "extends: a\n"}, "a profile cannot extend itself, and there is no"),
        ({"a": "extends: c\n"}, "unknown profile 'c'"),
    ],
)
def test_a_family_that_cannot_be_is_an_error_with_its_place(
    catalog: Catalog, files: dict[str, str], message: str
) -> None:
    for name, text in files.items():
        write(catalog.folders[0], name, text)
    with pytest.raises(ProfileError, match=message) as caught:
        catalog.load("a")
    (problem,) = caught.value.findings
    assert (problem.place.line, problem.place.column) == (2, 10)


def test_problems_of_all_layers_come_together(catalog: Catalog) -> None:
    built_in, site, _ = catalog.folders
    write(built_in, "m", "x: 1\n")
    write(site, "m", "y: 1\n")
    with pytest.raises(ProfileError) as caught:
        catalog.load("m")
    assert {Path(p.place.path).parent.name for p in caught.value.findings} == {
        "built-in",
        "site",
    }


@pytest.mark.parametrize(
    ("cluster", "host", "expected"),
    [
        ("lumi", "anything", "lumi-g"),
        ("dardel", "anything", "dardel"),
        (None, "clariden-ln001", "alps-clariden"),
        (None, "tuolumne1001", "tuolumne"),
        (None, "polaris-login-02", "polaris"),
        (None, "x3006c0s13b1n0", "polaris"),
        (None, "x4006c0s2b0n0", "aurora"),
        (None, "derecho3", "derecho"),
        (None, "deg0001", "derecho"),
        (None, "laptop", None),
        # nodes and login nodes of Cray EX bear these names at many sites
        (None, "nid005001", None),
        (None, "nid006567", None),
        (None, "uan01", None),
        # a cluster that has a name is not mistaken for another by its host names
        ("other", "clariden-ln001", None),
    ],
)
def test_a_system_is_known_by_cluster_or_host(
    built_in: Catalog, cluster: str | None, host: str, expected: str | None
) -> None:
    found = detect(built_in, Machine(cluster, host)).single_match()
    assert (found and found.name) == expected


def test_lumi_s_login_nodes_are_known_by_a_folder_of_lumi_s(built_in: Catalog) -> None:
    there = {"/appl/local/laifs": ""}
    # Where GPUs are there as well, its family claims the node too, with a lesser sign.
    machine = Machine(None, "uan01", ["hsn0"], {"/dev/kfd"}.__contains__, there.get)
    assert [each.name for each in detect(built_in, machine).matches] == ["lumi-g"]
    named = machine._replace(cluster="lumi")
    assert [each.name for each in detect(built_in, named).matches] == ["lumi-g"]


def test_two_systems_that_claim_one_host_are_both_named(catalog: Catalog) -> None:
    for name in ("a", "b"):
        write(catalog.folders[0], name, "detect: {hosts: [n*]}\n")
    with pytest.raises(UsageError, match="a and b both claim"):
        detect(catalog, Machine(None, "n1")).single_match()


def test_folders_are_in_the_order_of_their_power(tmp_path: Path) -> None:
    (tmp_path / "project/.envcfg/profiles").mkdir(parents=True)
    inside = tmp_path / "project/src"
    inside.mkdir()
    environ = {"ENVCFG_SITE": "/site", "XDG_CONFIG_HOME": "/config", "HOME": "/home/me"}
    folders = profile_folders(environ, str(inside))
    assert folders[1:] == [
        "/site/profiles",
        "/config/envcfg/profiles",
        str(tmp_path / "project/.envcfg/profiles"),
    ]
    assert profile_folders({"HOME": "/home/me"}, "/")[1:] == [
        "/etc/envcfg/profiles",
        "/home/me/.config/envcfg/profiles",
    ]

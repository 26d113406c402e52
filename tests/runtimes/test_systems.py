"""Every system with every runtime that its profile names: what is made is clean, and whole."""

from __future__ import annotations

import pytest

from asking import IMAGES, NEEDED, asking
from envcfg.backends.runtimes import NAMES, USUAL, runtime
from envcfg.profile.catalog import Catalog
from envcfg.profile.folders import built_in_folder
from suites import FEW, mark_systems
from support import Wrap, envcfg, lint_script, require

CATALOG = Catalog([built_in_folder()])
CASES = [
    (name, known)
    for name in CATALOG.names()
    for known in CATALOG.load(name).runtimes or USUAL
]


@pytest.mark.parametrize(("name", "known"), mark_systems(CASES, FEW))
def test_a_system_s_script_for_each_of_its_runtimes_is_clean(
    name: str, known: str, wrap: Wrap
) -> None:
    require("shellcheck")
    words = ("--runtime", known, "--container", IMAGES[known], "--", "python3", "a.py")
    if name in NEEDED:
        made = envcfg("sbatch", *asking(name, 2), *words)
    else:
        made = wrap("--profile", name, *words)
    assert made.code == 0, made.err
    assert lint_script(made.text) == ""
    record = runtime(known)
    entered = [line for line in made.text.splitlines() if "ENVCFG_ENTER=(" in line]
    assert record.program or any(record.option in line for line in entered)
    is_asked = f"#SBATCH --image={IMAGES[known]}\n" in made.text
    assert is_asked == (known == "shifter")


def test_an_image_is_known_for_every_runtime() -> None:
    assert IMAGES.keys() == set(NAMES)
    assert [name for name in NAMES if runtime(name).refuse(IMAGES[name])] == []


@pytest.mark.parametrize("option", ["--container-image=/a.sqsh", "--environment=a"])
def test_a_job_script_is_never_put_into_a_container(option: str) -> None:
    words = ("--container", "none", f"--request-arg={option}", "--", "true")
    made = envcfg("sbatch", *asking("aws-p5"), *words)
    assert made.code != 0
    said = f"{option.partition('=')[0]} runs the job script itself in the container"
    assert said in made.err

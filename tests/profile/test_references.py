"""What is set in vain or twice: said of a profile's file and of a job in the same words."""

from __future__ import annotations

from pathlib import Path

import pytest

from envcfg.common.errors import UsageError
from envcfg.job.plan.plan import Options
from envcfg.job.plan.resolve import resolve
from envcfg.profile.catalog import Catalog
from envcfg.profile.validate import validate

REASON = "why: w, source: s, date: 2026-01-01"
A = "A: {value: '%s', REASON}"
BUNDLE = "bundles: {b: {env: {A: 0}, srun: [--x], REASON}}"

# name -> launcher, env, the rest of the profile, what is said, the remedy
CLASHES = {
    "batch host": ("srun", A % "${HOSTNAME}", "", "A refers to HOSTNAME, the batch host's in every rank", "use ${SLURMD_NODENAME}"),
    "batch host of Flux": ("flux", A % "${HOSTNAME}", "", "A refers to HOSTNAME, the batch host's in every rank", "use ${NODE_RANK}"),
    "a task's own": ("torchrun", A % "${SLURM_PROCID}", "", "A refers to SLURM_PROCID, which is not a rank's own under torchrun", "torchrun starts several ranks in a task: use ${LOCAL_RANK}, ${RANK}"),
    "no scratch": ("srun", A % "${ENVCFG_CACHE}/a", "", "A refers to ENVCFG_CACHE, but the profile has no scratch", "add a block 'scratch' with a root to the profile"),
    "circle": ("srun", f"{A % '${B}'}, B: {{value: '${{A}}', REASON}}", "", "settings refer to each other in a circle: A -> B -> A", "give one of them another value"),
    "twice": ("srun", A % "1", BUNDLE, "bundle b sets A, and so does env (./my.yaml:4:14)", "remove one of them: 'env: {A: null}' or the bundle"),
}  # fmt: skip


@pytest.mark.parametrize("name", CLASHES)
def test_the_file_and_the_job_are_judged_in_the_same_words(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    launcher, env, rest, message, hint = CLASHES[name]
    text = f"name: my\nlaunch: {{launchers: [{launcher}]}}\nenv: {{{env}}}\n{rest}\n"
    Path("my.yaml").write_text(text.replace("REASON", REASON))
    (found,) = validate("my.yaml", Catalog([]))
    assert (found.message, found.fix) == (message, hint)
    assert (found.place and found.place.line, found.subject) == (3, "env.A")
    with pytest.raises(UsageError) as caught:
        resolve(Catalog([]).load("./my.yaml"), "0", Options())
    assert caught.value.message.replace("./", "") == (
        f"{found.place}: {found.message}".replace("./", "")
    )
    assert caught.value.hint == found.fix

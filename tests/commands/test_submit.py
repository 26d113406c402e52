"""``envcfg submit``: what the scheduler's command gets, what it says, and what is made of it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from asking import asking
from envcfg import api
from envcfg.core.linting import Linter
from schemas import errors
from support import Wrapped, envcfg, zero_separated

COMMAND = ("--", "python", "train.py")
SCRIPT = "#!/bin/bash\n#SBATCH --nodes=1 --time=10\nset -e\nsrun hostname\n"
TOO_MUCH = SCRIPT.replace("set -e", "#SBATCH --gpus-per-node=16\nset -e")
STAND_IN = """#!/usr/bin/env bash
set -u
for word in "${0##*/}" "$@"; do printf '%s\\0' "$word"; done >"$FAKE_NOTES"
cat >"$FAKE_NOTES.stdin"
printf '%s' "${FAKE_OUT-}"
printf '%s' "${FAKE_ERR-}" >&2
exit "${FAKE_CODE-0}"
"""


class Site:
    """A machine with the commands of schedulers, and what they were given."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._patch = patch
        self._notes = folder.parent / "notes"
        patch.setenv("FAKE_NOTES", str(self._notes))

    def has(self, *programs: str) -> None:
        there = self.folder.parent / "bin"
        there.mkdir()
        for program in programs:
            (there / program).write_text(STAND_IN)
            (there / program).chmod(0o755)
        self._patch.setenv("PATH", f"{there}:/usr/bin:/bin" if programs else str(there))

    def answers(self, out: str = "", err: str = "", code: int = 0) -> None:
        for name, value in (("OUT", out), ("ERR", err), ("CODE", str(code))):
            self._patch.setenv(f"FAKE_{name}", value)

    @property
    def words(self) -> list[str]:
        return [os.fsdecode(each) for each in zero_separated(self._notes)]

    @property
    def stdin(self) -> str:
        return Path(f"{self._notes}.stdin").read_text()


@pytest.fixture
def site(
    wrap: Callable[..., Wrapped], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Site:
    assert callable(wrap)  # keeps other layers away
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "train.py").write_text("")
    return Site(folder, monkeypatch)


@pytest.fixture
def slurm(site: Site) -> Site:
    site.has("sbatch")
    site.answers("Submitted batch job 123\n")
    return site


def test_a_program_submits_a_script_as_the_command_does(slurm: Site) -> None:
    Path("job.sh").write_text(SCRIPT)
    sent = api.submit(Path("job.sh"))
    assert (slurm.words, slurm.stdin) == (["sbatch", "--job-name=job.sh"], SCRIPT)
    assert (sent.job, sent.exit_code, sent.log) == ("123", 0, "slurm-123.out")
    done = envcfg("submit", "job.sh", "--json")
    assert api.as_json(sent) == json.loads(done.text)
    slurm.answers(err="sbatch: error: no\n", code=3)
    refused = api.submit("job.sh", profile="lumi-g", dry_run=True)
    assert (refused.job, refused.exit_code) == (None, 3)
    assert "--test-only" in slurm.words
    Path("job.sh").write_text(TOO_MUCH)
    with pytest.raises(api.EnvcfgError):
        api.submit("job.sh", profile="lumi-g")


def test_a_script_is_submitted_without_bad_nodes(slurm: Site) -> None:
    Path("job.sh").write_text(SCRIPT)
    Path("bad.txt").write_text("nid2\nnid1\n-x\n")
    done = envcfg("submit", "job.sh", "--exclude-from", "bad.txt")
    assert (done.code, slurm.words[-1]) == (0, "--exclude=nid[1-2]"), done.err
    assert "note: --exclude-from: left out: nid1 (0 h ago), nid2 (0 h ago)" in done.err
    assert "'-x' is not the name of a node" in done.err
    # An option of the command line would replace that of the script.
    own = SCRIPT.replace("set -e", "#SBATCH -x nid[7-8]\nset -e")
    Path("job.sh").write_text(own)
    envcfg("submit", "job.sh", "--exclude-from", "bad.txt", "--dry-run")
    assert "--exclude=nid[7-8],nid[1-2]" in slurm.words
    slurm.answers(err="sbatch: error: Invalid node name specified\n", code=1)
    done = envcfg("submit", "job.sh", "--exclude-from", "bad.txt")
    assert (done.code, "sinfo --format=%N" in done.err) == (1, True), done.err


LUMI = (*asking("lumi-g"), "--container", "none")
# Profile, what its scheduler prints, its words, the job and the log.
SYSTEMS = {
    "slurm": ("lumi-g", "Submitted batch job 123\n", ["sbatch"], "123", "train-123.out"),
    "slurm, another cluster": ("lumi-g", "Submitted batch job 123 on cluster c2\n", ["sbatch"], "123", "train-123.out"),
    "slurm, parsable": ("lumi-g", "site says hello\n123;c2\n", ["sbatch"], "123", "train-123.out"),
    "pbs": ("polaris", "123.polaris-pbs-01.hsn\n", ["qsub"], "123.polaris-pbs-01.hsn", "train.o123"),
    "flux": ("tuolumne", "\u01923AbZ\n", ["flux", "batch"], "\u01923AbZ", "train-\u01923AbZ.out"),
    "flux, in ASCII": ("tuolumne", "f3AbZ\n", ["flux", "batch"], "f3AbZ", "train-f3AbZ.out"),
}  # fmt: skip


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_job_is_written_and_submitted_and_its_log_named(
    site: Site, name: str
) -> None:
    profile, said, words, job, log = SYSTEMS[name]
    site.has(words[0])
    site.answers(said)
    done = envcfg("submit", *asking(profile), "--container", "none", *COMMAND)
    assert done.code == 0, done.err
    assert site.words == words
    look = f"look: envcfg check-log --follow {log if log.isascii() else repr(log)}"
    script = f"train-{log.removeprefix('train').strip('.-o').removesuffix('.out')}.sh"
    shown = script if script.isascii() else repr(script)
    assert done.text.splitlines() == [f"job: {job} ({shown})", f"log: {log}", look]
    made = (site.folder / script).read_text()
    assert made.startswith("#!/bin/bash\n# envcfg:job ")
    assert site.stdin == made
    assert ("site says hello\n" in done.err) == ("hello" in said)


def test_the_script_of_submit_is_kept_in_the_file(slurm: Site) -> None:
    done = envcfg("submit", *LUMI, "-o", "my.sh", "--json", *COMMAND)
    assert done.code == 0, done.err
    assert errors("submit", done.text) == []
    said = json.loads(done.text)
    assert (said["job"], said["log"]) == ("123", "train-123.out")
    assert slurm.words == ["sbatch"]
    assert slurm.stdin == (slurm.folder / "my.sh").read_text()
    again = envcfg("submit", *LUMI, "-o", "my.sh", *COMMAND)
    assert again.code == 0, again.err  # its own file is written anew


# Lines of a script, its job as the scheduler prints it, and the log.
LOGS = {
    "default": ("#SBATCH -N1", "7", "slurm-7.out"),
    "a name of its own": ("#SBATCH -J net -o %x.%j.log", "7", "net.7.log"),
    "no name": ("#SBATCH -o %x-%6j.log", "7", "a b.sh-000007.log"),
    "an array": ("#SBATCH --array=3-9%2", "7", "slurm-7_3.out"),
    "a folder": ("#SBATCH --chdir=/work --output=out/%j", "7", "/work/out/7"),
    "the node's name": ("#SBATCH -o %N.out", "7", None),
    "jobs of an array by their own number": ("#SBATCH -a 1-2 -o %j.out", "7", None),
    "PBS": ("#PBS -l select=1", "7.server", "a b.sh.o7"),
    "PBS, named": ("#PBS -N net -o out.txt", "7.server", "out.txt"),
    "PBS, to a folder": ("#PBS -N net -o .", "7.server", "./net.o7"),
    "PBS, an array": ("#PBS -N net -J 4-8", "7[].server", "net.o7.4"),
    "PBS, a variable": ("#PBS -o $PBS_JOBID.out", "7.server", None),
    "Flux": ("#flux: -N1", "f7", "flux-f7.out"),
    "Flux, named": ("#flux: --job-name=net --output={{name}}.{{id}}", "f7", "net.f7"),
    "Flux, by another id": ("#flux: --output={{id.dec}}", "f7", None),
}


@pytest.mark.parametrize("name", LOGS)
def test_the_log_of_a_script_is_named_as_its_lines_say(site: Site, name: str) -> None:
    lines, said, log = LOGS[name]
    site.has("sbatch", "qsub", "flux")
    site.answers(f"{said}\n")
    (site.folder / "a b.sh").write_text(f"#!/bin/bash\n{lines}\nhostname\n")
    done = envcfg("submit", "a b.sh", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.text)["log"] == log
    assert site.stdin == f"#!/bin/bash\n{lines}\nhostname\n"
    shown = envcfg("submit", "a b.sh").text
    assert f"({'a b.sh'!r})\n" in shown
    assert ("check-log" in shown) == (log is not None)


def test_a_dry_run_asks_when_the_job_would_start(slurm: Site) -> None:
    line = (
        "sbatch: Job 9 to start at 2026-11-23T15:00:00 using 64 processors on nodes "
        "nid[001-002] in partition standard"
    )
    slurm.answers(err=f"{line}\n")
    done = envcfg("submit", "--dry-run", *LUMI, *COMMAND)
    assert done.code == 0, done.err
    assert done.text == "would start: 2026-11-23T15:00:00 (nothing is submitted)\n"
    assert line in done.err
    assert slurm.words == ["sbatch", "--test-only"]
    assert "#SBATCH --account=project_465000001\n" in slurm.stdin
    assert not (slurm.folder / "train.sh").exists()
    slurm.answers(err="sbatch: new words\n")
    unknown = envcfg("submit", "--dry-run", *LUMI, *COMMAND)
    assert unknown.text.startswith("would start: unknown ")


PLANNED = "sbatch: Job 9 to start at 2026-11-23T15:00:00 using 64 processors\n"
SHARED = ("--profile", "lumi-g", "-A", "project_465000001", "--container", "none")


def test_a_submission_shows_request_cost_and_expected_start(slurm: Site) -> None:
    slurm.answers("Submitted batch job 123\n", PLANNED)
    done = envcfg("submit", *SHARED, "-N2", "--time", "10", *COMMAND)
    assert done.code == 0, done.err
    assert slurm.words == ["sbatch"]  # after the question
    assert (
        "\nstart: about 2026-11-23T15:00:00, as sbatch --test-only says\n" in done.text
    )
    assert (
        "note: request: --account=project_465000001 --partition=standard-g --nodes=2"
        in done.err
    )
    assert re.search(
        r"note: cost: .* \(the unit is one hour of a GPU module; ", done.err
    )
    said = json.loads(
        envcfg("submit", *SHARED, "-N2", "--time", "10", "--json", *COMMAND).text
    )
    assert said["starts"] == "2026-11-23T15:00:00"


def test_without_an_estimate_the_job_is_submitted(site: Site) -> None:
    site.has("sbatch")
    program = site.folder.parent / "bin/sbatch"
    refusing = 'case $* in *--test-only*) echo "to start at noon" >&2; exit 1 ;; esac\n'
    program.write_text(program.read_text().replace("set -u\n", refusing))
    site.answers("Submitted batch job 123\n")
    done = envcfg("submit", *LUMI, *COMMAND)
    assert done.text.startswith("job: 123 ("), done.err
    assert "start: " not in done.text


def test_options_of_a_project_are_saved_once(slurm: Site) -> None:
    saved = envcfg(
        "submit", "--save-defaults", *SHARED, "-N2", "--time", "10", *COMMAND
    )
    assert saved.code == 0, saved.err
    path = slurm.folder / "envcfg.toml"
    assert path.read_text() == (
        'profile = "lumi-g"\naccount = "project_465000001"\ncontainer = "none"\n'
    )
    assert path.stat().st_mode & 0o022 == 0
    assert f"note: {path} has profile, account, container: the next jobs" in saved.err
    again = envcfg("submit", "-N2", "--time", "10", *COMMAND)
    assert again.code == 0, again.err
    assert "#SBATCH --account=project_465000001\n" in slurm.stdin
    before = path.read_text()
    refused = envcfg(
        "submit", "--save-defaults", *SHARED, "-N1", "--time", "10", *COMMAND
    )
    assert (refused.code, refused.text) == (2, "")
    assert f"--save-defaults: {path} is there already" in refused.err
    assert path.read_text() == before


def test_defaults_are_saved_only_for_a_submitted_job_and_by_its_owner(
    slurm: Site,
) -> None:
    options = ("submit", "--save-defaults", *SHARED, "-N2", "--time", "10")
    assert envcfg(*options, "--dry-run", *COMMAND).code == 0
    slurm.answers(err="sbatch: error: no\n", code=3)
    assert envcfg(*options, *COMMAND).code == 3
    slurm.answers("Submitted batch job 123\n")
    slurm.folder.chmod(0o777)
    shared = envcfg(*options, *COMMAND)
    assert (shared.code, "may write" in shared.err) == (2, True), shared.err
    plain = envcfg("submit", *SHARED, "-N2", "--time", "10", *COMMAND)
    assert plain.code == 0, plain.err
    slurm.folder.chmod(0o755)
    assert not (slurm.folder / "envcfg.toml").exists()


def test_a_scheduler_that_tells_no_start_submits_nothing(site: Site) -> None:
    site.has("qsub")
    asked = (*asking("polaris"), "--container", "none", "--dry-run", *COMMAND)
    done = envcfg("submit", *asked)
    assert (done.code, done.text, site.words) == (2, "", [])
    assert "PBS does not say when a job would start" in done.err


REFUSALS = {
    "account": ("sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified", 1, "sacctmgr show assoc"),
    "time": ("sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)", 1, "sinfo --format='%P %l'"),
    "words of the site": ("sbatch: error: not on a Monday", 3, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_in_the_schedulers_own_words(slurm: Site, name: str) -> None:
    words, code, hint = REFUSALS[name]
    slurm.answers(err=f"{words}\n", code=code)
    done = envcfg("submit", *LUMI, *COMMAND)
    assert (done.code, done.text) == (code, "")
    assert f"{words}\n" in done.err
    assert f"sbatch refused train.sh, and ended with {code}" in done.err
    assert not list(slurm.folder.glob("train*.sh"))
    if hint:
        assert f"  hint: {hint}" in done.err


def test_what_it_says_cannot_write_to_the_terminal(slurm: Site) -> None:
    slurm.answers("\x1b[2Jhello\nSubmitted batch job 5\n", "\x1b]0;title\x07\udcff\n")
    done = envcfg("submit", *LUMI, *COMMAND)
    assert done.code == 0
    assert "\\x1b[2Jhello" in done.err
    assert "\x1b" not in done.text + done.err
    slurm.answers("Submitted batch job 5; rm -rf /\n")
    strange = envcfg("submit", *LUMI, "--json", *COMMAND)
    assert (strange.code, json.loads(strange.text)["job"]) == (0, None)
    assert "did not print the number of the job" in strange.err


def test_lint_refuses_a_script_before_the_scheduler_sees_it(slurm: Site) -> None:
    (slurm.folder / "bad.sh").write_text(SCRIPT.replace("--nodes", "--node"))
    done = envcfg("submit", "bad.sh", "--profile", "lumi-g")
    assert (done.code, done.text, slurm.words) == (2, "", [])
    assert "error: bad.sh:2:" in done.err
    (slurm.folder / "job.sh").write_text(TOO_MUCH)
    lumi = envcfg("submit", "job.sh", "--profile", "lumi-g")
    assert (lumi.code, slurm.words) == (2, [])
    assert "error: job.sh:3:9: 16 GPUs on a node, but a node has 8" in lumi.err
    assert envcfg("submit", "job.sh").code == 0


def test_the_system_of_a_login_node_counts(
    slurm: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    (slurm.folder / "job.sh").write_text(TOO_MUCH)
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "lumi")
    done = envcfg("submit", "job.sh")
    assert (done.code, slurm.words) == (2, [])
    assert "a node has 8" in done.err
    (slurm.folder / "job.sh").write_text(TOO_MUCH.replace("16", "8"))
    missing = envcfg("submit", "job.sh")
    assert (missing.code, slurm.words) == (2, [])
    assert "error: job.sh:2:9: --account is missing" in missing.err
    monkeypatch.setenv("SBATCH_ACCOUNT", "project_465000001")
    monkeypatch.setenv("SBATCH_PARTITION", "standard-g")
    done = envcfg("submit", "job.sh")
    assert (done.code, "is missing" in done.err) == (0, False), done.err


@pytest.mark.parametrize("variable", ["", "SBATCH_NODES"])
@pytest.mark.parametrize("maker", ["wrap", "a user"])
def test_a_script_that_requests_nothing_is_not_submitted(
    slurm: Site, monkeypatch: pytest.MonkeyPatch, variable: str, maker: str
) -> None:
    local = ("wrap", "--profile", "lumi-g", "--container", "none", "-o", "job.sh")
    if maker == "wrap":
        assert envcfg(*local, *COMMAND).code == 0
    else:
        (slurm.folder / "job.sh").write_text("#!/bin/bash\nsrun hostname\n")
    if variable:
        monkeypatch.setenv(variable, "1")
    done = envcfg("submit", "job.sh")
    assert (done.code, bool(slurm.words)) == ((0, True) if variable else (2, False))
    assert variable or "error: job.sh has no #SBATCH line" in done.err


def test_a_new_job_gets_each_warning_once_and_without_a_file(slurm: Site) -> None:
    done = envcfg("submit", "--dry-run", *LUMI, "-N2", "--gpus", "8", *COMMAND)
    assert done.code == 0, done.err
    assert done.err.count("of 8 GPUs") == 1, done.err
    assert "train.sh:" not in done.err
    assert slurm.words == ["sbatch", "--test-only"]


def test_a_file_of_somebody_is_not_replaced(slurm: Site) -> None:
    (slurm.folder / "train.sh").write_text("mine\n")
    named = ("submit", *LUMI, "-o", "train.sh")
    done = envcfg(*named, *COMMAND)
    assert (done.code, slurm.words) == (4, [])
    assert "train.sh was not written by envcfg" in done.err
    assert envcfg(*named, "--force", *COMMAND).code == 0


@pytest.mark.parametrize("obstacle", ["a file", "a folder", "a link"])
def test_a_submitted_job_counts_even_if_its_script_cannot_be_kept(
    slurm: Site, obstacle: str
) -> None:
    place = slurm.folder / "train-123.sh"
    if obstacle == "a file":
        place.write_text("mine\n")
    elif obstacle == "a folder":
        place.mkdir()
    else:
        place.symlink_to("/nonexistent/x")
    done = envcfg("submit", *LUMI, "--json", *COMMAND)
    assert done.code == 0, done.err
    assert json.loads(done.text)["job"] == "123"
    assert json.loads(done.text)["script"] is None
    assert "warning: the job is submitted, but " in done.err
    assert obstacle != "a file" or place.read_text() == "mine\n"
    assert "job: 123\n" in envcfg("submit", *LUMI, *COMMAND).text


MISUSES = {
    "a script and a command": (["job.sh", *COMMAND], 2, "the command is for a script"),
    "a script and options": (["job.sh", "--nodes=2"], 2, "--nodes is for a script"),
    "a letter": (["job.sh", "-N2"], 2, "-N2 is for a script"),
    "a folder": (["."], 2, ". is not a file"),
    "standard input": (["-"], 2, "- is not a file"),
    "no file": (["no.sh"], 4, "no.sh: cannot be read"),
    "nothing": ([], 2, "--container"),
    "standard output": ([*LUMI, "-o", "-", *COMMAND], 2, "-o names the script"),
    "a check": ([*LUMI, "--format", "text", *COMMAND], 2, "it excludes --format"),
    "what the system refuses": (["--profile", "lumi-g", "--container", "none", *COMMAND], 2, "--account is missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISUSES)
def test_what_cannot_be_right_submits_nothing(slurm: Site, name: str) -> None:
    words, code, message = MISUSES[name]
    (slurm.folder / "job.sh").write_text(SCRIPT)
    done = envcfg("submit", *words)
    assert (done.code, done.text, slurm.words) == (code, "", [])
    assert message in done.err


@pytest.mark.parametrize("option", ["--submit", "--dry-run"])
@pytest.mark.parametrize("command", ["job", "sbatch"])
def test_only_envcfg_submit_submits(slurm: Site, command: str, option: str) -> None:
    done = envcfg(command, *LUMI, option, *COMMAND)
    assert (done.code, done.text, slurm.words) == (2, "", [])
    assert "envcfg submit" in done.err


def test_without_a_scheduler_nothing_is_submitted(site: Site) -> None:
    site.has()
    done = envcfg("submit", *LUMI, *COMMAND)
    assert (done.code, done.text) == (4, "")
    assert "sbatch is not on PATH" in done.err


def test_a_script_that_is_there_gets_of_defaults_its_profile_alone(site: Site) -> None:
    site.has("sbatch")
    site.answers(out="Submitted batch job 77\n")
    text = 'account = "a"\nbind = ["/x"]\ntime = 10\n'
    (site.folder / "envcfg.toml").write_text(text)
    (site.folder / "job.sh").write_text(SCRIPT)
    done = envcfg("submit", "job.sh")
    assert done.code == 0, done.err
    assert site.stdin == SCRIPT
    own = ("--profile=lumi-g", "--container=none", "--account=project_1", "-p", "dev-g")
    made = envcfg("submit", *own, "--no-default=bind", *COMMAND)
    assert made.code == 0, made.err
    head = (site.folder / "train-77.sh").read_text()
    assert "# default: --time 10 (" in head
    assert "--account a" not in head
    assert (
        "# made by: envcfg submit --no-default all --time 10 --profile=lumi-g" in head
    )


# Lines of a script, the scheduler, a variable, and the words that name its job.
NAMES = {
    "no name": ("#SBATCH -N1", "sbatch", {}, ["--job-name=a b.sh"]),
    "long": ("#SBATCH --job-name=net", "sbatch", {}, []),
    "two words": ("#SBATCH --job-name net", "sbatch", {}, []),
    "short": ("#SBATCH -Jnet", "sbatch", {}, []),
    "cut": ("#SBATCH --job-n=net", "sbatch", {}, []),
    "the user's variable": ("#SBATCH -N1", "sbatch", {"SBATCH_JOB_NAME": "mine"}, []),
    "a line of PBS, which sbatch reads": ("#SBATCH -N1\n#PBS -l x -N net", "sbatch", {}, []),
    "PBS": ("#PBS -l select=1", "qsub", {}, ["-N", "a b.sh"]),
    "PBS, named": ("#PBS -N net", "qsub", {}, []),
    "Flux": ("#flux: -N1", "flux", {}, ["batch", "--job-name=a b.sh"]),
    "Flux, named": ("#flux: --job-name=net", "flux", {}, ["batch"]),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_job_without_a_name_has_that_of_its_script(
    site: Site, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    lines, program, variables, words = NAMES[name]
    site.has(program)
    site.answers("1\n")
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    folder = site.folder / "scripts"
    folder.mkdir()
    (folder / "a b.sh").write_text(f"#!/bin/bash\n{lines}\nset -e\nhostname\n")
    done = envcfg("submit", "scripts/a b.sh")
    assert done.code == 0, done.err
    assert site.words == [program, *words]


@pytest.mark.parametrize(
    "name", ["-x.sh", "line\nbreak.sh", "a,b;c$(d).sh", "\u00e9.sh"]
)
def test_a_scripts_name_is_one_word_whatever_it_is(slurm: Site, name: str) -> None:
    (slurm.folder / name).write_text(SCRIPT)
    done = envcfg("submit", f"./{name}")
    assert done.code == 0, done.err
    assert slurm.words == ["sbatch", f"--job-name={name}"]
    assert len(done.text.splitlines()) == 3


def test_a_script_that_changes_after_the_check_is_submitted_as_it_was(
    slurm: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = slurm.folder / "job.sh"
    path.write_text(SCRIPT)
    judge = Linter.judge

    def spoil(self: Linter, *texts: dict[str, bytes], **more: object) -> object:
        path.write_text("#!/bin/bash\nrm -rf ~\n")
        return judge(self, *texts, **more)

    monkeypatch.setattr(Linter, "judge", spoil)
    assert envcfg("submit", "job.sh").code == 0
    assert slurm.stdin == SCRIPT


UNANSWERED = {
    "no controller": (
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
        "sbatch reached no Slurm, and ended with 1: no job is submitted",
        "scontrol ping says whether Slurm answers",
    ),
    "an unknown host": (
        "sbatch: error: Unable to establish control machine address\nsbatch: error: Batch job submission failed: Invalid argument",
        "sbatch reached no Slurm, and ended with 1: no job is submitted",
        "scontrol ping says whether Slurm answers",
    ),
    "no configuration": (
        "sbatch: fatal: Could not establish a configuration source",
        "sbatch reached no Slurm, and ended with 1: no job is submitted",
        "scontrol ping says whether Slurm answers",
    ),
    "a configuration without a file": (
        "sbatch: fatal: Unable to process configuration file",
        "sbatch reached no Slurm, and ended with 1: no job is submitted",
        "scontrol ping says whether Slurm answers",
    ),
    "no answer": (
        "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
        "sbatch got no answer to train.sh, and ended with 1: the job may be submitted",
        "squeue --me lists your jobs",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNANSWERED)
def test_a_controller_that_does_not_answer_refuses_nothing(
    slurm: Site, name: str
) -> None:
    words, fault, hint = UNANSWERED[name]
    slurm.answers(err=f"{words}\n", code=1)
    done = envcfg("submit", *LUMI, *COMMAND)
    assert (done.code, done.text) == (1, "")
    assert f"error: {fault}\n  hint: {hint}\n" in done.err
    assert "refused" not in done.err
    said = json.loads(envcfg("submit", *LUMI, "--json", *COMMAND).text)
    assert (said["fault"], said["hint"]) == (fault, hint)


SIZED = {
    "polaris": ("prod", 496, ("--account", "ABC123")),
    "aurora": ("prod", 10624, ("--account", "ABC123")),
    "frontier": ("batch", 9472, ("--account", "ABC123")),
}


@pytest.mark.parametrize("profile", SIZED)
@pytest.mark.parametrize("command", ["job", "submit"])
def test_a_job_larger_than_the_largest_size_is_refused(
    slurm: Site, profile: str, command: str
) -> None:
    partition, most, more = SIZED[profile]
    asked = (command, "--profile", profile, "--container", "none", *more)
    size = ("--partition", partition, "--nodes", str(most + 1), "--time", "100:00:00")
    done = envcfg(*asked, *size, *COMMAND)
    assert (done.code, done.text, slurm.words) == (2, "", [])
    limit = f"{most + 1} nodes, but partition {partition} gives a job {most} at most"
    assert f"error: {limit}" in done.err


def test_every_profile_with_sizes_is_tried() -> None:
    folder = Path(__file__).parents[2] / "profiles"
    sized = {
        path.stem for path in folder.glob("*.yaml") if "sizes:" in path.read_text()
    }
    assert sized == {*SIZED}


IMAGES = {
    "docker://user:pw@reg/x": "a password does not belong on a command line",
    "docker://user:p:w@reg:5000/x": "a password does not belong on a command line",
    "docker://../../etc/passwd": "is not the name of an image",
    "docker://reg/a/../b": "is not the name of an image",
    "docker://": "is not the name of an image",
    "docker://ubuntu:22.04@sha256:0123abcd": "",
    "docker://registry.example:5000/team/pytorch:2.6": "",
}


@pytest.mark.parametrize("image", IMAGES)
@pytest.mark.parametrize("profile", ["lumi-g", "perlmutter", "alps-clariden"])
def test_a_uri_with_a_password_or_a_path_is_refused(
    slurm: Site, profile: str, image: str
) -> None:
    assert slurm
    done = envcfg("wrap", "--profile", profile, "--container", image, "--", "true")
    if fault := IMAGES[image]:
        assert (done.code, fault in done.err) == (2, True), done.err
        assert "pw" not in done.err
    else:
        assert done.code == 0, done.err


@pytest.mark.parametrize("more", [(), ("--dry-run",), ("-o", "job.sh")])
@pytest.mark.parametrize("content", [b"", b"hsqs" + bytes(90)])
def test_a_damaged_image_is_not_submitted(
    slurm: Site, content: bytes, more: tuple[str, ...]
) -> None:
    (slurm.folder / "x.sif").write_bytes(content)
    asked = ("--profile", "leonardo", "--container", "./x.sif", "--account", "a")
    asked += ("--time", "10", *more)
    done = envcfg("submit", *asked, *COMMAND)
    assert (done.code, slurm.words) == (2, []), done.err
    assert "error: " in done.err
    assert "no runtime can start this image" in done.err
    done = envcfg("submit", "--no-inspect", *asked, *COMMAND)
    assert (done.code, slurm.words[:1]) == (0, ["sbatch"]), done.err

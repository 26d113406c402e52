"""Exit status as lint follows it, against what bash really returns: EC734.

Each script runs under bash with programs that fail with 7. Where lint says that the job ends
well, it must; where it does and lint says nothing, the script is named in ``MISSED``. The
same with programs that are still there when the script has ended.
"""

from __future__ import annotations

import os
import subprocess
from typing import NamedTuple

import pytest

from envcfg.lint.rule_runner import judge
from envcfg.lint.script_source import Sources

HEAD = "#!/bin/bash\n#SBATCH --nodes=2\n"
T = "srun python train.py"
MAKES = "envcfg wrap --profile lumi-g --container x.sif"
SCRIPTS: dict[str, str] = {
    # The last command.
    "last": T,
    "then echo": f"{T}\necho done",
    "then exit 0": f"{T}\nexit 0",
    "then exit": f"{T}\nexit",
    "echo and exit": f"{T}\necho done\nexit",
    "exit with status": f"{T}\nexit $?",
    "status shown": f'{T}\necho "after: $?"',
    "status shown on stderr": f'{T}\nprintf "code %s\\n" "$?" >&2\necho done',
    "status of a pipe shown": f'{T} | tee log\necho "${{PIPESTATUS[0]}}"',
    "status shown under errexit": f'set -e\n{T}\necho "after: $?"',
    "status in a file": f"{T}\necho $? >code",
    "status of a substitution": f"{T}\nrc=$(echo $?)\necho\nexit $rc",
    "status in a variable by printf": f'{T}\nprintf -v rc %s "$?"\nexit "$rc"',
    "exit with a variable": f"{T}\nrc=$?\necho $rc\nexit $rc",
    "exit with quotes": f'{T}\nrc=$?\necho\nexit "${{rc}}"',
    "exit with a default": f"{T}\nrc=$?\necho\nexit ${{rc:-0}}",
    "exit with arithmetic": f"{T}\nrc=$?\necho\nexit $((rc))",
    "status taken too late": f"{T}\necho\nrc=$?\nexit $rc",
    "local takes the status": f"f() {{ {T}; local rc=$?; return $rc; }}\nf",
    "assignment last": f"{T}\nrc=$?",
    "exported": f"{T}\nexport RC=$?\nexit $RC",
    "masked by export": "export OUT=$(srun python train.py)",
    "substitution": "OUT=$(srun python train.py)",
    "substitution and echo": 'OUT=$(srun python train.py)\necho "$OUT"',
    "exec": f"exec {T}\necho never",
    "exec of output": f"exec > >(cat) 2>&1\n{T}",
    "exec of output then echo": f"exec 2>&1\n{T}\necho done",
    "time": f"time {T}\necho",
    "nohup": f"nohup {T}\ntrue",
    "command": f"command {T}\n:",
    "variable": 'LAUNCH="srun --label"\n$LAUNCH python train.py\necho done',
    "array": 'L=(srun --label)\n"${L[@]}" python train.py\ntrue',
    "eval": f'CMD="{T}"\neval "$CMD"',
    "eval then echo": f'CMD="{T}"\neval $CMD\necho done',
    "redirected": f"{T} > log 2>&1\necho done",
    "here-document": f"{T} <<EOF\nx\nEOF\necho done",
    "two steps": f"{T}\nsrun python eval_train.py",
    "helper behind": f"{T}\nsrun hostname",
    # set -e and its exceptions.
    "errexit": f"set -e\n{T}\necho done",
    "errexit by letters": f"set -euo pipefail\n{T} | tee log\necho done",
    "errexit by name": f"set -o errexit\n{T}\necho",
    "errexit off again": f"set -e\nset +e\n{T}\necho",
    "errexit set late": f"{T}\nset -e\necho",
    "errexit in a subshell": f"( set -e; {T}; echo )\necho",
    "subshell alone": f"( {T} )",
    "subshell with echo": f"( {T}; echo )",
    "subshell under errexit": f"set -e\n( {T} )\necho",
    "errexit and or": f"set -e\n{T} || echo failed",
    "errexit and and": f"set -e\n{T} && echo ok\necho done",
    "errexit and if": f"set -e\nif {T}; then echo ok; fi\necho done",
    "errexit and not": f"set -e\n! {T}\necho done",
    "errexit in a tested function": f"set -e\nf() {{ {T}; echo; }}\nf || exit 1\necho",
    "errexit in a function": f"set -e\nf() {{ {T}; echo; }}\nf\necho",
    "errexit and a group": f"set -e\n{{ {T}; echo; }}\necho",
    "errexit and substitution": "set -e\nX=$(srun python train.py)\necho",
    "errexit and export": "set -e\nexport X=$(srun python train.py)\necho",
    "errexit and background": f"set -e\n{T} &\nwait\necho",
    "errexit and wait id": f"set -e\n{T} &\nwait $!\necho",
    # && and ||.
    "or true": f"{T} || true",
    "or colon": f"{T} || :",
    "or echo": f"{T} || echo failed",
    "or exit": f"{T} || exit 1\necho done",
    "or exit 0": f"{T} || exit 0",
    "or exit status": f"{T} || exit $?\necho",
    "or group": f"{T} || {{ echo failed; exit 3; }}\necho",
    "or group without exit": f"{T} || {{ echo failed; }}\necho",
    "or variable": f"rc=0\n{T} || rc=$?\necho\nexit $rc",
    "and echo": f"{T} && echo ok",
    "and echo then echo": f"{T} && echo ok\necho done",
    "and or": f"{T} && echo ok || echo failed",
    "test behind": f"{T}\n[ $? -eq 0 ] || exit 1\necho",
    "test by a sign": f"{T}\n[ $? = 0 ] || exit 1\necho",
    "test behind and": f"{T}\n[ $? -ne 0 ] && exit 1\necho",
    "test at the end": f"{T}\n[ $? -eq 0 ] && echo ok",
    "double test": f"{T}\nrc=$?\n[[ $rc -ne 0 ]] && exit $rc\necho",
    "double test of text": f'{T}\nrc=$?\n[[ "$rc" != "0" ]] && exit $rc\necho',
    "arithmetic test": f"{T}\nrc=$?\n(( rc )) && exit $rc\necho",
    "arithmetic compare": f"{T}\nrc=$?\n((rc != 0)) && exit 2\necho",
    # if, case, loops.
    "if": f"if {T}; then echo ok; fi",
    "if else": f"if {T}; then echo ok; else echo failed; fi",
    "if else exit": f"if {T}; then echo ok; else exit 1; fi",
    "if not": f"if ! {T}; then exit 1; fi\necho",
    "if not echo": f"if ! {T}; then echo failed; fi",
    "if status": f"{T}\nif [ $? -ne 0 ]; then echo failed; exit 1; fi\necho",
    "if status without exit": f"{T}\nif [ $? -ne 0 ]; then echo failed; fi",
    "if status false": f"{T}\nif [ $? -eq 0 ]; then echo ok; fi",
    "if elif": f"if [ -n \"$X\" ]; then echo; elif {T}; then echo ok; fi\necho",
    "if inside": f'if [ -z "$X" ]; then {T}; fi',
    "if inside echo": f'if [ -z "$X" ]; then {T}; echo; fi',
    "if each side": f'if [ "$X" ]; then {T} --a; else {T} --b; echo; fi',
    "trailing if of a file": f"{T}\nif [ -f /none ]; then echo; fi",
    "here-document and pipe": "srun bash train <<EOF | tee log\nx\nEOF",
    "here-document and pipefail": "set -o pipefail\nsrun bash train <<EOF | tee log\nx\nEOF",
    "ids by number": f"for i in 1 2; do {T} & pids[$i]=$!; done\nfor p in ${{pids[*]}}; do wait $p; done\necho",
    "bash -c": f'bash -c "{T}"\necho',
    "bash -c last": f'bash -c "{T}"',
    "if in an if": f"{T}\nif [ -f none ] && true; then if exit 0; then exit; fi; else false; fi",
    "case": f"case x in x) {T};; *) echo;; esac",
    "case then echo": f"case $X in a) {T} a;; *) {T} b;; esac\necho",
    "case of the status": f"{T}\ncase $? in 0) echo ok;; *) exit 3;; esac",
    "for last": f"for i in 1 2; do {T} $i; done",
    "for with echo": f"for i in 1 2; do {T} $i; echo $i; done",
    "for then echo": f"for i in $(seq 2); do {T} $i; done\necho",
    "for with or break": f"for i in 1 2; do {T} $i || break; done",
    "for with or exit": f"for i in 1 2; do {T} $i || exit 1; done\necho",
    "for with a count": f"bad=0\nfor i in 1 2; do {T} || bad=1; done\nexit $bad",
    "for with ++": f"bad=0\nfor i in 1 2; do {T} || ((bad++)); done\nexit $bad",
    "for with a sum": f"bad=0\nfor i in 1 2; do {T}; bad=$((bad + $?)); done\n[ $bad -eq 0 ]",
    "for retries": f"for i in 1 2 3; do {T} && break; echo again; done",
    "for retries and exits": f"for i in 1 2; do {T} && exit 0; done\nexit 1",
    "c-style for": f"for ((i = 0; i < 2; i++)); do {T}; echo; done",
    "while with a count": f"n=0\nwhile ! {T}; do n=$((n + 1)); [ $n -ge 3 ] && exit 1; done\necho",
    "while with break": f"while true; do {T} && break; break; done\necho",
    "while of numbers": f"i=0\nwhile [ $i -lt 2 ]; do {T}; i=$((i+1)); done",
    "until": f"n=0\nuntil {T}; do ((n += 1)); ((n == 2)) && break; done\necho",
    # Pipes.
    "pipe": f"{T} | tee log",
    "pipe of both": f"{T} |& tee log",
    "pipefail": f"set -o pipefail\n{T} | tee log",
    "pipefail then echo": f"set -o pipefail\n{T} | tee log\necho",
    "pipefail and errexit": f"set -eo pipefail\n{T} 2>&1 | tee log\necho",
    "PIPESTATUS": f"{T} | tee log\nexit ${{PIPESTATUS[0]}}",
    "PIPESTATUS kept": f"{T} | tee log\nrc=${{PIPESTATUS[0]}}\necho\nexit $rc",
    "PIPESTATUS of the wrong one": f"{T} | tee log\nexit ${{PIPESTATUS[1]}}",
    "pipe of a loop": f"{T} | while read -r line; do echo $line; done",
    "pipe of a group": f"{{ {T}; echo; }} | tee log",
    "pipe into the step": f"echo | {T}",
    "not a pipe": f"! {T} | tee log",
    # The background.
    "wait": f"{T} &\nwait",
    "wait and echo": f"{T} &\nwait\necho done",
    "wait for the last": f"{T} &\nwait $!",
    "wait for an id": f"{T} &\npid=$!\necho\nwait $pid",
    "wait for an id and echo": f"{T} &\npid=$!\nwait $pid\necho",
    "wait for an id, kept": f'{T} &\npid=$!\nwait "$pid"\nrc=$?\necho\nexit $rc',
    "wait for any": f"{T} &\nwait -n",
    "wait for any and echo": f"{T} &\nwait -n\necho",
    "wait or exit": f"{T} &\nwait $! || exit 1\necho",
    "ids": f"for i in 1 2; do {T} $i & pids+=($!); done\nfor p in ${{pids[@]}}; do wait $p || exit 1; done",
    "ids lost": f"for i in 1 2; do {T} $i & pids+=($!); done\nfor p in ${{pids[@]}}; do wait $p; done\nwait",
    "ids counted": f'bad=0\nids=""\nfor i in 1 2; do {T} $i & ids="$ids $!"; done\nfor p in $ids; do wait $p || bad=1; done\nexit $bad',
    "wait for several": f"{T} a & a=$!\n{T} b & b=$!\nwait $a $b",
    "wait in a function": f"stop() {{ wait; }}\n{T} &\nstop",
    "loop in the background": f"for i in 1 2; do {T} $i & done\nwait",
    "group in the background": f"{{ {T}; echo; }} &\nwait $!",
    "subshell in the background": f"( {T} ) &\nwait $!",
    "pipe in the background": f"{T} | tee log &\nwait $!",
    "monitor beside": f"srun --overlap sleep 0 &\n{T}\nwait",
    "monitor stopped": f"sleep 9 & m=$!\n{T}\nkill $m",
    "monitor stopped, status kept": f"sleep 9 & m=$!\n{T}\nrc=$?\nkill $m\nexit $rc",
    "at the end": f"{T} &",
    "at the end with echo": f"{T} &\necho started",
    "at the end of a loop": f"for i in 1 2; do {T} $i & done",
    "at the end of a function": f"go() {{ {T} & }}\ngo\necho",
    "at the end, slept": f"{T} &\nsleep 0",
    "disowned": f"nohup {T} > log &\ndisown",
    # Functions and traps.
    "function": f"go() {{ {T}; }}\ngo",
    "function with echo": f"go() {{ {T}; echo; }}\ngo",
    "function with return": f"go() {{ {T}; rc=$?; echo; return $rc; }}\ngo",
    "function with return 0": f"go() {{ {T}; return 0; }}\ngo",
    "function or exit": f"go() {{ {T}; }}\ngo || exit 1\necho",
    "function in parentheses": f"go() ( {T}; exit 0 )\ngo",
    "main": f'main() {{ {T}; echo; }}\nmain "$@"',
    "trap that cleans": f"trap 'rm -rf x' EXIT\n{T}",
    "trap with exit 0": f"trap 'rm -rf x; exit 0' EXIT\n{T}",
    "trap with status": f"trap 'rc=$?; rm -rf x; exit $rc' EXIT\n{T}",
    "trap of a function": f"end() {{ echo; exit 0; }}\ntrap end EXIT\n{T}",
    "trap and echo": f"trap 'rm -rf x' EXIT\n{T}\necho",
    "trap of errors": f"trap 'echo failed; exit 1' ERR\n{T}\necho",
    "trap of errors without exit": f"trap 'echo failed' ERR\n{T}\necho",
    "trap of errors in a function": f"trap 'exit 1' ERR\ngo() {{ {T}; echo; }}\ngo",
    "trap with another exit code": f"trap 'exit 3' EXIT\n{T}\necho",
    "trap of a function with another exit code": f"end() {{ exit 3; }}\ntrap end EXIT\n{T}\necho",
    "ended by its own signal": f"{T}\nkill $$\necho",
    "other process ended by a signal": f"sleep 9 & m=$!\n{T}\nkill $m\necho",
    "trap removed": f"trap 'exit 0' EXIT\ntrap - EXIT\n{T}",
    "trap of a signal": f"trap 'exit 0' TERM\n{T}",
    # Other starters.
    "mpirun": "mpirun -np 8 python train.py\necho done",
    "mpiexec": "mpiexec -n 8 python train.py | tee log",
    "mpiexec last": "cd .\nmpiexec -n 8 python train.py",
    "torchrun": "torchrun --standalone train.py\necho done",
    # What envcfg makes.
    "made": f"source <({MAKES} -- python train.py || echo exit $?)",
    "made and echo": f"source <({MAKES} -- python train.py || echo exit $?)\necho done",
    "made by eval": f'eval "$({MAKES} -- python train.py || echo exit $?)"\necho done',
    "made, and kept": f"set -e\n. <({MAKES} -- python train.py || echo exit $?)\necho done",
    "steps": f"source <({MAKES} || echo exit $?)\nenvcfg_run python train.py",
    "steps and echo": f"source <({MAKES} || echo exit $?)\nenvcfg_run --nodes=1 -- python train.py\necho",
    "steps in a pipe": f"source <({MAKES} || echo exit $?)\nenvcfg_run python train.py | tee log",
    "steps waited for": f"source <({MAKES} || echo exit $?)\nenvcfg_run python train.py &\nwait $!",
    "at the end of steps": f"source <({MAKES} || echo exit $?)\nenvcfg_run python train.py &",
}  # fmt: skip
# Where the job ends with 0 and nothing is said, and why.
MISSED: dict[str, str] = {
    name: reason
    for reason, names in {
        "the script reads the exit code, and lint does not compute what it makes of it": (
            "assignment last",
            "PIPESTATUS of the wrong one", "wait for an id and echo",
            "wait for any and echo", "ids lost", "ids by number", "status in a file",
            "group in the background", "pipe in the background",
        ),
        "the output of the program is used, so it is a question": (
            "masked by export", "substitution and echo", "errexit and export",
        ),
        "a test or a loop of something else comes last": (
            "while of numbers", "and or",
        ),
        "set -e may count, or not": (
            "errexit in a subshell", "errexit in a tested function",
        ),
        "a trap may change the exit code": (
            "trap with exit 0", "trap of a function", "trap of errors without exit",
            "trap of errors in a function",
        ),
    }.items()
    for name in names
}  # fmt: skip


class Ran(NamedTuple):
    """What bash made of a script."""

    code: int
    is_left: bool  # its program was still there when it had ended


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """Run all scripts at once, with programs that fail."""
    top = tmp_path_factory.mktemp("scripts")
    programs = top / "bin"
    programs.mkdir()
    stand_in = '#!/bin/bash\nif [[ $* != *train* ]]; then exit 0; fi\nsleep "$SLOW"\necho >> ended\nexit 7\n'
    for name in ("srun", "mpirun", "mpiexec", "torchrun"):
        (programs / name).write_text(stand_in)
        (programs / name).chmod(0o755)
    makes = """#!/bin/bash
        case $* in *' -- '*) echo "srun ${*#* -- }" ;; *) echo 'envcfg_run() { srun "$@"; }' ;; esac
    """
    (programs / "envcfg").write_text(makes)
    (programs / "envcfg").chmod(0o755)
    started = {}
    for name, body in SCRIPTS.items():
        folder = top / name.replace(" ", "-")
        folder.mkdir()
        (folder / "job.sh").write_text(HEAD + body + "\n")
        is_left = name.startswith(("at the end", "disowned"))
        started[name] = subprocess.Popen(
            ["bash", "job.sh"],
            cwd=folder,
            env={
                "PATH": f"{programs}:{os.environ['PATH']}",
                "SLOW": "1" if is_left else "0.01",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    found = {}
    for name, process in started.items():
        code = process.wait(20)
        ended = top / name.replace(" ", "-") / "ended"
        found[name] = Ran(code, not ended.exists())
    return found


def said(body: str) -> list[tuple[str, str]]:
    """Return severity and message of what lint finds."""
    sources = Sources()
    given = sources.add("job.sh", (HEAD + body + "\n").encode())
    found = judge([given], sources, rules=["EC734"])
    return [
        (r.finding.severity, r.finding.message) for rs in found.values() for r in rs
    ]


@pytest.mark.parametrize("name", SCRIPTS)
def test_lint_says_what_bash_does(name: str, ran: dict[str, Ran]) -> None:
    code, is_left = ran[name]
    assert code != 127
    found = said(SCRIPTS[name])
    assert len(found) <= 2, found
    if is_left:
        assert all("background" in message for _, message in found)
        assert {severity for severity, _ in found} == {"error"}
    elif code or name in MISSED:
        assert found == []
    else:
        assert found
        assert {severity for severity, _ in found} == {"warning"}

"""Other forms of a script with launch lines: each does the same to the job's faults.

A form changes every launch line of a script, or returns None if it has none that the form fits.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping

Form = Callable[[str], "str | None"]

_STARTERS = r"srun|mpirun|mpiexec|flux run|jsrun"
_RUNTIMES = r"(?:singularity|apptainer)(?=[ \t]+exec)"
_LAUNCH = re.compile(
    rf"(?:{_STARTERS}|{_RUNTIMES}|torchrun|accelerate launch)(?![\w./-])"
)
_SRUN = re.compile(r"(?<![\w./-])srun(?=[ \t])")
_BARE_SRUN = re.compile(r"(?<![\w./-])srun[ \t]+(?=[a-z./$\"])")
_EXEC = re.compile(r"(?<![\w./-])(singularity|apptainer)[ \t]+exec(?=[ \t])")
_BARE_EXEC = re.compile(
    r"(?<![\w./-])(?:singularity|apptainer)[ \t]+exec[ \t]+(?=[\w./$\"])"
)
_DOCUMENT = re.compile(r"<<-?[ \t]*['\"]?(\w+)")


def is_bare(script: str) -> Iterator[bool]:
    """Yield of each character whether it is outside of quotes, comments and documents."""
    quote, ending, line = "", "", ""
    for number, sign in enumerate(script):
        if sign == "\n":
            if ending:
                ending = "" if line.strip() == ending else ending
            elif not quote and (begin := _DOCUMENT.search(line)):
                ending = begin[1]
            line = ""
            quote = "" if quote == "#" else quote
            yield not quote and not ending
            continue
        line += sign
        escaped = script[number - 1 : number] == "\\" and quote != "'"
        yield not quote and not ending
        if ending or escaped:
            continue
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"" or (sign == "#" and line.strip() == "#"):
            quote = sign


def statements(script: str) -> list[tuple[int, int]]:
    """Return where each launch line at the beginning of a line begins and ends."""
    bare, spans, begin = [*is_bare(script)], [], 0
    for number, sign in enumerate(script):
        if sign == "\n" and bare[number] and script[number - 1] != "\\":
            line = script[begin:number]
            if _LAUNCH.match(line) and "<<" not in line:
                spans.append((begin, number))
            begin = number + 1
    return spans


def _around(make: Callable[[str], str]) -> Form:
    """Return the form in which each launch line is what *make* returns."""

    def change(script: str) -> str | None:
        changed = script
        for begin, end in reversed(statements(script)):
            changed = changed[:begin] + make(script[begin:end]) + changed[end:]
        return changed if changed != script else None

    return change


def _in_place(pattern: re.Pattern[str], text: str, *, quoted: bool = True) -> Form:
    """Return the form in which *text* replaces what *pattern* matches.

    Args:
        quoted: also within quotes.
    """

    def change(script: str) -> str | None:
        bare, changed = [*is_bare(script)], script
        for match in reversed([*pattern.finditer(script)]):
            line = script[script.rfind("\n", 0, match.start()) + 1 : match.start()]
            if line.lstrip().startswith("#") or not (quoted or bare[match.start()]):
                continue
            new = match.expand(text)
            changed = changed[: match.start()] + new + changed[match.end() :]
        return changed if changed != script else None

    return change


def _behind_srun(words: str, *, quoted: bool = True) -> Form:
    escaped = words.replace("\\", r"\\")
    return _in_place(_SRUN, rf"srun {escaped}", quoted=quoted)


def _behind_exec(words: str) -> Form:
    return _in_place(_EXEC, rf"\g<0> {words}")


# Options that change neither which nodes and cores a step gets, nor what reaches it.
_SRUN_OPTIONS = (
    "-l", "--label", "-u", "-lu", "-K", "-K1", "--kill-on-bad-exit=1", "-v", "--quiet",
    "--mpi=pmi2", "--mpi none", "-J name", "--job-name=name", "-Jname", "-o out-%t.txt",
    "--output=out-%t.txt", "--error err-%t.txt", "-t 10", "--time=1:00:00", "-D /work",
    "--chdir=/work", "-W 60", "--wait=0", "--signal=TERM@60", "--propagate",
    "--propagate=STACK", "-m block:block", "--distribution=block", "--comment 'a b'",
    "--unbuffered --label --mpi=pmix", "--no-kill", "-Z", "--bcast=/tmp/x", "--mem=0",
    "--gpu-freq=high", "--threads-per-core=1", "--acctg-freq=30", "-A p", "--reservation=r",
    "--input=none", "-i none", "--epilog=e.sh", "--prolog p.sh", "--tmp=10G", "-Q", "-X",
    "--cpu-freq=high", "--mem-bind=local", "--open-mode=append", "--export=ALL", "--x11",
    "--spread-job", "--new-option", "--new-option=scontrol", "--comment=slurm",
    "-o scontrol.log", "-N $SLURM_NNODES", "--nodes=$SLURM_JOB_NUM_NODES --label",
    '--nodes="${SLURM_NNODES}"', "$OPTIONS_FROM_OUTSIDE",
)  # fmt: skip
_EXEC_OPTIONS = (
    "-B /data:/data", "-B/data", "--bind /data", "--bind=/data", "-B /a -B /b,/c:/d",
    "--pwd /work", "-S /tmp", "--no-home", "-H /tmp/h", "--overlay x.img:ro",
    "--env A=b", "--mount type=bind,src=/a,dst=/b", "--fakeroot", "--writable-tmpfs",
    "--ipc --pid", "--home=/tmp/h", "-S /run", "--net --network none", "--unsquash",
    "--new-option", "--security=seccomp:x.json", "--env B=slurm",
)  # fmt: skip
# Starters with words that mean the step that srun makes of the whole job.
_STARTERS_OF_ALL = (
    "mpiexec", "mpirun", "mpiexec -n 4", "mpiexec -n 4 -ppn 2", "mpirun -np 4 -x A=b -H a,b",
    "mpiexec --np 4 --ppn 2 --cpu-bind list:0:1", "mpirun --mca pml ob1 -np 4",
    "mpirun --map-by ppr:2:node --bind-to none", "mpiexec -genv A b -n 4", "flux run",
    "flux run -N2 -n4", "flux run -N 2 -n 4 -g 1 -o cpu-affinity=per-task",
    "flux run --nodes=2 --tasks-per-node 2 --env=A=b --label-io", "mpiexec -f hosts -env A b",
    "/usr/bin/srun", "/opt/slurm/bin/srun -l", '"srun"', "'srun' -l", "s\\run",
)  # fmt: skip
# Runtimes with the words up to their image, as they start an image with a whole command.
_RUNTIMES_OF_IMAGES = (
    "apptainer exec ", "singularity -d exec ", "apptainer --debug exec -B /a ",
    "/usr/bin/singularity exec ", "singularity run ", "apptainer run --pwd /w ",
    "podman run ", "podman run --rm -v /a:/b --network host ", "podman-hpc run --gpu --rm ",
    "podman --log-level=error run ", "docker run --rm -it -e A=b --gpus all ",
    "shifter --image=", "shifter --module=gpu -V /a:/b --image ", "enroot start --rw ",
    "enroot start -m /a:/b -e A=b ", "ch-run -b /a:/b ", "ch-run -w --set-env=A=b ",
    "sarus run ", "sarus run --mpi --mount=type=bind,source=/a,destination=/b ",
)  # fmt: skip
_REDIRECTIONS = (
    "2>&1", ">out.txt", "> out.txt", "2> err.txt", "&>out.txt", ">> out.txt 2>&1",
    "</dev/null", "< /dev/null", "{file}>out.txt", ">|out.txt", "2>&-", ">&2", "1>out.txt",
    "<<< text", "> >(cat)", "< <(true)",
)  # fmt: skip


def _function(line: str) -> str:
    return f"go() {{\n{line}\n}}\ngo"


def _arguments(line: str) -> str:
    return f'go() {{ "$@"; }}\ngo {line}'


def _in_shell(words: str) -> Form:
    """Return the form in which another shell runs each line, with the variables it reads."""

    def change(script: str) -> str | None:
        assigned = {*re.findall(r"^(\w+)=", script, re.MULTILINE)}

        def make(line: str) -> str:
            names = sorted(assigned & {*re.findall(r"\$\{?([A-Za-z_]\w*)", line)})
            export = f"export {' '.join(names)}\n" if names else ""
            return export + words.format(shlex.quote(line), line)

        return _around(make)(script)

    return change


_SHELLS = {
    "bash -c": "bash -c {0}",
    "bash -lc": "bash -lc {0}",
    "sh -c": "/bin/sh -c {0}",
    "bash -c with options": "bash -e -o pipefail -c {0} x",
    "time bash -c": "time bash -c {0}",
    "bash of a here-string": "bash <<< {0}",
    "bash of a pipe": "echo {0} | bash",
    "bash of printf": "printf '%s\\n' {0} | bash -l",
    "bash of a document": "bash << 'END'\n{1}\nEND",
    "bash of cat": "cat << 'END' | bash -s\n{1}\nEND",
    "bash of a list": "cd /work && bash << 'END'\n{1}\nEND",
}


_AROUND: Mapping[str, Callable[[str], str]] = {
    "function": _function,
    "function with keyword": lambda line: f"function go {{\n{line}\n}}\ngo",
    "function that runs its arguments": _arguments,
    "function of a function": lambda line: f"a() {{\n{line}\n}}\nb() {{ a; }}\nb",
    "for": lambda line: f"for i in 1 2; do\n{line}\ndone",
    "for, by numbers": lambda line: f"for ((i=0; i<2; i++)); do\n{line}\ndone",
    "while": lambda line: f"while true; do\n{line}\nbreak\ndone",
    "until": lambda line: f"until {line}; do sleep 1; done",
    "pipe": lambda line: f"{line} | tee log.txt",
    "pipe of both": lambda line: f"{line} |& tee log.txt",
    "pipe into it": lambda line: f"echo y | {line}",
    "eval": lambda line: f"eval {shlex.quote(line)}",
    "subshell": lambda line: f"(\n{line}\n)",
    "subshell on one line": lambda line: f"(cd /work && {line})",
    "group": lambda line: f"{{ {line}; }}",
    "group, redirected": lambda line: f"{{\n{line}\n}} > out.txt 2>&1",
    "if": lambda line: f"if {line}; then echo ok; fi",
    "if not": lambda line: f"if ! {line}; then exit 1; fi",
    "then": lambda line: f"if [[ -n $GO ]]; then\n{line}\nfi",
    "else": lambda line: f"if [[ -n $GO ]]; then :; else\n{line}\nfi",
    "elif": lambda line: f'if [ -n "$GO" ]; then :; elif true; then\n{line}\nfi',
    "case": lambda line: f"case $GO in\n  a) {line} ;;\n  *) : ;;\nesac",
    "and": lambda line: f"true && {line}",
    "or": lambda line: f"{line} || exit 1",
    "not": lambda line: f"! {line}",
    "background": lambda line: f"{line} &\nwait",
    "time": lambda line: f"time {line}",
    "time -p": lambda line: f"time -p {line}",
    "exec": lambda line: f"exec {line}",
    "command": lambda line: f"command {line}",
    "nohup": lambda line: f"nohup {line} &\nwait $!",
    "timeout": lambda line: f"timeout -k 10 1h {line}",
    "env": lambda line: f"env A=b {line}",
    "env with options": lambda line: f"env -u A B=c {line}",
    "assignment": lambda line: f"A=b C=$D {line}",
    "stdbuf": lambda line: f"stdbuf -oL {line}",
    "numactl": lambda line: f"numactl --interleave=all {line}",
    "nice": lambda line: f"nice -n 5 {line}",
    "substitution": lambda line: f"out=$({line})",
    "substitution in backquotes": lambda line: f"out=`\n{line}\n`",
    "set -x": lambda line: f"set -x; {line}; set +x",
    "behind a document": lambda line: f"cat > x.txt << END\na $HOME\n  b\nEND\n{line}",
    "coproc": lambda line: f"coproc {line}",
    "trap": lambda line: f"trap {shlex.quote(line)} EXIT",
    "continued": lambda line: " \\\n  ".join(line.split(" ", 2)),
    "behind a semicolon": lambda line: f"cd /work; {line}",
    "process substitution": lambda line: f"cat <({line})",
    "tabs": lambda line: "\t" + line.replace(" ", "\t", 1),
}


def _forms() -> Iterator[tuple[str, Form]]:
    for words in _SRUN_OPTIONS:
        yield f"srun {words}", _behind_srun(words)
    for words in _REDIRECTIONS:
        yield f"srun {words}", _behind_srun(words, quoted=False)
        yield f"{words} srun", _in_place(_SRUN, rf"{words} srun", quoted=False)
        yield f"exec {words}", _in_place(_EXEC, rf"\g<0> {words}", quoted=False)
        yield f"... {words}", _around(lambda line, words=words: f"{line} {words}")
    for words in _EXEC_OPTIONS:
        yield f"exec {words}", _behind_exec(words)
    for words in _STARTERS_OF_ALL:
        other = words.replace("\\", r"\\")
        yield f"{words} for srun", _in_place(_BARE_SRUN, f"{other} ", quoted=False)
    for words in _RUNTIMES_OF_IMAGES:
        yield f"{words.strip()} for exec", _in_place(_BARE_EXEC, words)
    yield (
        "image by srun",
        _in_place(
            re.compile(r"srun[ \t]+singularity[ \t]+exec[ \t]+([\w./]+)"),
            r"srun --container-image=\1",
        ),
    )
    yield (
        "srun of a variable",
        _in_place(re.compile(r"^srun(?=[ \t])", re.MULTILINE), "SRUN=srun\n$SRUN"),
    )
    yield (
        "options of a variable",
        _in_place(
            re.compile(r"^srun(?=[ \t])", re.MULTILINE),
            "OPTIONS='-l -u'\nsrun $OPTIONS",
        ),
    )
    yield (
        "options of an array",
        _in_place(
            re.compile(r"^srun(?=[ \t])", re.MULTILINE),
            'OPTIONS=(-l --mpi pmi2)\nsrun "${OPTIONS[@]}"',
        ),
    )
    yield (
        "a variable, quoted",
        _in_place(
            re.compile(r"^srun(?=[ \t])", re.MULTILINE), 'SRUN="srun"\n"$SRUN" -l'
        ),
    )
    for name, words in _SHELLS.items():
        yield name, _in_shell(words)
    for name, make in _AROUND.items():
        yield name, _around(make)


FORMS: Mapping[str, Form] = dict(_forms())

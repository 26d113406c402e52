"""Nothing is written where somebody else may have put a link: every file of shell, by its tree.

A redirection or a program that makes files may only name what ``place.sh`` has made. What
else there is stands below, each with what keeps others from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import tree_sitter_bash
from tree_sitter import Language, Parser

import envcfg

PACKAGE = Path(envcfg.__file__).parent
ROOT = PACKAGE.parent
SHELL = sorted(PACKAGE.glob("**/*.sh"))
WRITING = (
    "cp dd install link ln mkdir mkfifo mknod mktemp mv rsync tar tee touch truncate"
)
PLACED = ('"$ENVCFG_PLACED/', "/dev/null", "&", "(")
BASH = Parser(Language(tree_sitter_bash.language()))
ALLOWED = {
    "place.sh": {
        'mkdir -m 700 -- "$1"': "without -p: what is there is refused",
        'mkdir -p -- "$1"': "the folder that the user names; what is made in it is ours",
    },
    "folders.sh": {
        'mkdir -m 700 "$@"': "envcfg_own looks at what is there, and refuses it",
    },
    "report.sh": {
        '>"$envcfg_file$envcfg_rank"': "in a folder that envcfg_keep has made",
        '>>"$envcfg_file"': "begun before; owner and kind are looked at",
    },
    "runtimes/charliecloud.sh": {
        'mkdir -m 700 -- "$folder"': "owner and kind are looked at behind it",
    },
    "stage.sh": {
        'mkdir -m 700 -- "$ENVCFG_STAGED"': "where it is not there; its owner is looked at",
        'tar -C "$ENVCFG_STAGES_ENV" -cvf "$1" .': "in that folder",
        '>"$1.count"': "in that folder",
        'mkdir -m 700 -- "$1"': "without -p: what is there is refused",
        'mkdir -- "$1/env"': "in the folder made so, as all below",
        'cp -- "$3" "$1/$name"': "in that folder",
        'cp -a -- "$source/." "$1/env"': "in that folder",
        'tar -xf "$source" -C "$1/env"': "in that folder",
        '>"$1/script"': "in that folder",
        '>"$file"': "in that folder, and no link",
    },
    "keep_caches.sh": {
        'mkdir -p -- "$ENVCFG_KEPT"': "the user's folder; owner, kind and mode are looked at",
        '>"$ENVCFG_KEEPER_SAID"': "in that folder, as all that is in $folder",
        'mkdir -p -- "$folder/new"': "in that folder",
        'mkdir -- "$part"': "in that folder",
        'mkdir -- "$1"': "in that folder",
        '>"$1/owner"': "in the folder made so",
        '>"$folder/about"': "in that folder",
        '>"$folder/.tmp-$$-$1"': "in that folder",
        '>"$packed"': "in that folder",
        'tar --null --no-recursion -T "$2" --owner=0 --group=0 --numeric-owner -cf "$packed"': "in that folder",
        'tar --null --no-recursion -T "$2" --owner=0 --group=0 --numeric-owner -cf': "to stdout",
        'mv -- "$packed" "$part/whole${packed#"$part/part"}"': "in that folder",
        'mv -- "$packed" "$folder/$archive"': "in that folder",
        'mv -- "$folder/.tmp-$$-$1" "$folder/$1.manifest"': "in that folder",
        'mv -T -- "$1" "${1%/*}/.tmp-$RANDOM"': "in that folder",
        'touch -c -- "$folder/about"': "in that folder",
        'mkdir -m 700 -- "$cache"': "without -p, and its owner is looked at",
        'cp -- "$folder/$archive" "$copy"': "in the job's cache, as all below",
        'mkdir -- "$cache/.$kind"': "in that cache",
        'mv -T -- "$cache/.$kind" "$cache/$place"': "in that cache",
        '>"$cache/.kept"': "in that cache",
        '>"$cache/.names"': "in that cache",
        "touch -d '2 seconds ago' -- \"$cache/.kept\"": "in that cache",
        'tar "${by[@]}" -tvf "$1"': "only lists",
        'tar "${by[@]}" -xf "$1" -C "$2" --no-same-owner --no-same-permissions --skip-old-files': "in a new folder; names are looked at before",
        'mkdir -- "$work"': "in that cache; without -p",
        "mktemp -d": "a new folder, mode 700",
        'mkdir -- "$work/all"': "in that new folder",
        '>"$work/names"': "in that new folder",
    },
    "signals.sh": {
        '>/dev/fd/"$envcfg_pipe" {ENVCFG_LIFE}': "a pipe of this shell, no file",
    },
    "srun/srun.sh": {
        '>>"/dev/fd/$envcfg_stderr"': "the script's own stderr, opened once more",
    },
    "job/script/templates/job/with_envcfg.sh": {
        '>>"/proc/$$/fd/2"': "the script's own stderr, opened once more",
    },
    "nodes/probe/hang.sh": {
        'mktemp -d "$envcfg_folder/envcfg-hang.XXXXXX"': "a new folder, mode 700",
        '>"$envcfg_folder/new"': "in that folder",
        'cp /bin/true "$envcfg_folder/py-spy"': "in that folder",
        '<>"$envcfg_pipe"': "a pipe of ours, which is looked at before",
        '>"/dev/tcp/$envcfg_to/$envcfg_port"': "no file",
    },
}


def writes(text: str) -> Iterator[str]:
    """Yield each place of shell that makes or changes a file, as it is written."""
    nodes = [BASH.parse(text.encode()).root_node]
    while nodes:
        node = nodes.pop()
        nodes += node.children
        said = (node.text or b"").decode()
        if node.type == "file_redirect":
            sign = re.sub(r"^(\d+|\{\w+\})", "", said)
            target = sign.lstrip("<>|& ")
            if ">" in sign[: len(sign) - len(target)] and not (
                target.startswith(PLACED) or re.search(r">&\s*(\d|-|\"\$)", sign)
            ):
                yield sign
        elif node.type == "command":
            words = said.split("2>")[0].removeprefix("exec ").split()
            if words[0] in WRITING.split():
                yield " ".join(words)
        elif node.type == "heredoc_body":  # a part for the ranks
            yield from writes(said)
        elif node.type == "raw_string" and "\n" in said:  # of bash -c
            yield from writes(said.strip("'"))


def name_of(path: Path) -> str:
    folder = PACKAGE / "job/script/modules"
    return str(path.relative_to(folder if folder in path.parents else PACKAGE))


@pytest.mark.parametrize("path", SHELL, ids=name_of)
def test_shell_writes_only_into_folders_that_it_has_made(path: Path) -> None:
    found = set(writes(path.read_text()))
    assert found == {*ALLOWED.get(name_of(path), {})}


@pytest.mark.parametrize(
    "text",
    [
        'echo x >"$TMPDIR/a"',
        "echo x >>/tmp/a.$$",
        "echo x 2>log",
        "echo x &>$HOME/a",
        "echo x >|a",
        "exec 3<>/tmp/a",
        "{ echo a; } >a",
        "for i in 1; do echo a; done >a",
        "echo a | tee /tmp/a",
        "exec cp a b",
        "(umask 077; touch /tmp/a)",
        "dd if=/dev/zero of=/tmp/a",
        "mktemp -u",
        "bash -c '\n  echo x >/tmp/a'",
    ],
)
def test_what_writes_elsewhere_is_seen(text: str) -> None:
    assert list(writes(text)) != []


@pytest.mark.parametrize(
    "text",
    ["echo x >/dev/null 2>&1", "echo x >&2", 'echo x >&"$fd"', "exec {fd}>&-", "a <b"],
)
def test_what_writes_no_file_is_not(text: str) -> None:
    assert list(writes(text)) == []


def test_few_modules_make_temporary_files_or_start_programs() -> None:
    """One module knows deadlines, limits of output and signals; no file is below a known path."""
    found: dict[str, set[str]] = {"tempfile": set(), "subprocess": set()}
    for path in PACKAGE.glob("**/*.py"):
        text = path.read_text()
        for module, files in found.items():
            if re.search(rf"^ *(?:import|from) {module}\b", text, re.MULTILINE):
                files.add(str(path.relative_to(PACKAGE)))
    assert found["tempfile"] == {"image/spython_process.py"}
    assert found["subprocess"] == {
        "common/child_process.py",
        # The command of --on-bad is the user's, with the terminal of envcfg.
        "commands/check_log.py",
        # It runs in the job, without envcfg.
        "job/script/ray_cluster.py",
    }


def test_scripts_and_recipes_make_folders_by_mktemp() -> None:
    """Without -u, and never with a name that is known before."""
    for folder in ("scripts", "container-recipes", "examples"):
        for path in filter(Path.is_file, (ROOT / folder).glob("**/*")):
            text = path.read_text(errors="replace")
            assert (
                re.findall(r"mktemp (?!-d\b).*|>>?\s*\"?(?:/tmp|\$TMPDIR).*", text)
                == []
            )

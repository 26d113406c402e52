"""What a rank part holds where a job is asked to tell more of itself; pure."""

from __future__ import annotations

from collections.abc import Iterator

from envcfg.bash.pieces import template
from envcfg.bash.quoting import quote, quote_word
from envcfg.launch.diagnostics import Diagnostics, is_path


def setup_pieces(diagnostics: Diagnostics) -> Iterator[str]:
    """Yield what prepares the program's environment, as ``--setup`` gives it."""
    setup = diagnostics.setup
    if setup and is_path(setup):
        path = setup if "/" in setup else f"./{setup}"  # no search on PATH
        yield f"envcfg_file={quote(path)}\n"
        yield template("rank/setup_file")
    elif setup:
        given = "# shellcheck disable=all # as it was given by --setup"
        yield f"{given}\nenvcfg_setup() {{\n{setup}\n}}\n"
        yield template("rank/setup_words")


def ending_pieces(diagnostics: Diagnostics) -> Iterator[str]:
    """Yield what a rank does just before its program."""
    if diagnostics.affinity:
        yield template("rank/affinity")
    if not diagnostics.profiled:
        return
    ranks = " ".join(str(rank) for rank in diagnostics.profiled)
    name, *_ = words = [
        quote_word(word, "--profiler", ("RANK", "ENVCFG_JOB"))
        for word in diagnostics.profiler
    ]
    yield (
        f"envcfg_profiled=' {ranks} '\nenvcfg_last={max(diagnostics.profiled)}\n"
        f"envcfg_profiler={name}\n"
    )
    yield template("rank/profiler")
    yield (
        'case $envcfg_profiled in *" $RANK "*)\n'
        f'  set -- {" ".join(words)} "$@" ;;\nesac\n'
    )

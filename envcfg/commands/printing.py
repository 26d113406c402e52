"""The output of commands: findings on stderr, text on stdout."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Iterable, Sequence
from stat import S_ISFIFO
from typing import TYPE_CHECKING

from envcfg.commands import ALIASES, texts
from envcfg.common.characters import fold, one_line, screen_width
from envcfg.common.datafile import load_kept_file
from envcfg.common.errors import EXIT_USAGE, UsageError
from envcfg.common.failure import (
    STDERR,
    STDOUT,
    failing_script,
    put_stream,
    stream_descriptor,
)
from envcfg.common.findings import Finding
from envcfg.common.interrupts import BlockedSignals
from envcfg.common.secrets import hide, safe_line
from envcfg.core.option import Option, switch

if TYPE_CHECKING:
    from envcfg.common.safe_output import Output
    from envcfg.job.plan.script_files import Files, MachineryPlace


# The options of commands that write a script.
OUTPUT = (
    Option(
        "--output",
        "write the script to FILE and make it executable; -: standard output",
        metavar="FILE",
        short="-o",
    ),
    switch("--force", "with -o: replace a file that envcfg did not write"),
    switch("--verbose", "print all notes", short="-v"),
)
_ONCE = frozenset({"profile-never-run"})  # notes whose image does not matter


def put_messages(*lines: str) -> None:
    """Write *lines* to stderr, no wider than its terminal.

    In a pipe and in the log of a job, each message stays one line for other programs.
    """
    width = screen_width(STDERR)
    parts = (part for line in lines for part in fold(safe_line(line), width))
    sys.stderr.write("".join(f"{part}\n" for part in parts))


def say(findings: Iterable[Finding]) -> None:
    """Write *findings* to stderr."""
    for finding in findings:
        put_messages(*finding.lines())


def say_notes(findings: Sequence[Finding], *, about: str, verbose: bool) -> None:
    """Write the findings on a job to stderr: all warnings and decisions, and one note.

    ``note_order.yaml`` says which note; one that this user has seen is left out. With
    *verbose* or ``ENVCFG_VERBOSE`` all are written, and with ``ENVCFG_QUIET`` neither
    notes nor decisions.

    Args:
        about: profile and image: for others, a note is new.
    """
    if os.environ.get("ENVCFG_QUIET"):
        say(finding for finding in findings if finding.severity != "note")
        return
    is_complete = verbose or os.environ.get("ENVCFG_VERBOSE")
    ordered = [] if is_complete else _minor_notes(findings)
    new = next((note for note in ordered if not _was_printed(note, about)), None)
    left_out = [note for note in ordered if note != new]
    say(finding for finding in findings if finding not in left_out)
    if new:
        _remember(new, about)
    if left_out:
        put_messages(f"envcfg: notes left out: {len(left_out)} (-v prints them)")


def _was_printed(note: Finding, about: str) -> bool:
    """Return whether this user has seen *note*.

    A changed text, or another version of envcfg, is new.
    """
    from envcfg.common.cache import recall

    place = _place_of(note, about)
    return place is not None and recall(*place) is not None


def _remember(note: Finding, about: str) -> None:
    """Store that *note* was printed. A folder that cannot be written changes nothing."""
    from envcfg.common.cache import keep

    if place := _place_of(note, about):
        keep(*place, value=True)


def _place_of(note: Finding, about: str) -> tuple[str, str, str] | None:
    """Return folder, name and key of *note* in the state folder; None without a home."""
    from envcfg.common.cache import kept_folder
    from envcfg.common.provenance import sha256_of

    folder = kept_folder(os.environ, "XDG_STATE_HOME", ".local/state")
    about = "" if note.rule in _ONCE else about
    text = "\n".join([about, *note.lines(), note.why or "", note.source or ""])
    if folder is None:
        return None
    return folder, f"printed/{sha256_of(text.encode())[:32]}", text


def _minor_notes(findings: Iterable[Finding]) -> list[Finding]:
    """Return the notes that state no decision, the most important one first."""
    notes = [finding for finding in findings if finding.severity == "note"]
    if not notes:  # then the order is not needed
        return []
    data = load_kept_file("commands/note_order.yaml")
    places = {rule: place for place, rule in enumerate(data["order"])}
    minor = [note for note in notes if note.rule not in data["decisions"]]
    return sorted(minor, key=lambda note: places.get(note.rule, len(places)))


def site_contact(err: Exception) -> list[str]:
    """Return the line with the site's contact, unless only the command line is wrong."""
    from envcfg.profile.folders import site_defaults

    if isinstance(err, UsageError) or not os.path.exists(site_defaults(os.environ)):
        return []
    from envcfg.core.defaults import read_contact

    contact = read_contact(os.environ)
    return [f"  contact: {one_line(contact)}"] if contact else []


def tell(text: str, hint: str | None = None, *, severity: str = "note") -> None:
    """Write a message that is not a finding to stderr, with a hint.

    Both may contain text from files of others, so each becomes one line, safe for a
    terminal.
    """
    put_messages(f"envcfg: {severity}: {text}")
    if hint:
        put_messages(f"  hint: {hint}")


def next_step(options: argparse.Namespace, code: int) -> str | None:
    """Return the next step after a command; None if there is none."""
    import shlex

    values = vars(options)
    # A subcommand such as profiles.show has its own texts.
    name = ".".join(filter(None, (options.command_name, values.get("action"))))
    rows = texts()[ALIASES.get(name, name)].get("next", {})
    row = next((rows[flag] for flag in rows if values.get(flag)), rows.get("usual"))
    # Other exit codes are failures, for which the error already has a hint.
    if row is None or code not in {0, 1, 3} or values.get("values") is not None:
        return None
    done, *steps = [row] if isinstance(row, str) else row
    firsts = (
        (flag, value[0] if isinstance(value, list) and value else value)
        for flag, value in values.items()
    )
    # Values come from the user's arguments, so they are quoted for the shell.
    displayed = {flag: one_line(shlex.quote(str(value))) for flag, value in firsts}
    text = steps[0] if code and steps else done
    return str(text.format(look=texts()["look"], **displayed))


def say_next(options: argparse.Namespace, code: int) -> None:
    """Write the next step to stderr, unless ``ENVCFG_QUIET`` is set."""
    if not os.environ.get("ENVCFG_QUIET") and (text := next_step(options, code)):
        # stdout is flushed first, so that the sentence comes after the output in a
        # terminal.
        sys.stdout.flush()
        put_messages(f"envcfg: try: {text}")


def write(text: str) -> None:
    """Write *text* to stdout; bytes of arguments are written unchanged.

    It is the last action of a command: a signal comes before it, or is ignored.
    """
    # Text may still be buffered, and its order must be kept.
    sys.stdout.flush()
    data = text.encode("utf-8", "surrogateescape")
    with BlockedSignals() as output:
        put_stream(STDOUT, data)
        output.finish()


def check_script(options: argparse.Namespace, inputs: Collection[str]) -> None:
    """Check that the script can be written; *inputs* are files from which it is made.

    Raises:
        EnvcfgError: it cannot be written, or would overwrite a protected file.
    """
    if options.output is not None:
        from envcfg.common.safe_output import check_outputs

        check_outputs([_output(options, inputs)])


def machinery_place(
    options: argparse.Namespace, made_by: Sequence[str]
) -> MachineryPlace | None:
    """Return the place of the script's second file, the machinery.

    It is None for a script on stdout, which has no folder for a second file.

    Args:
        made_by: the command line that writes script and file.
    """
    if not options.output:
        return None
    import shlex

    from envcfg.common.safe_output import is_file
    from envcfg.job.plan.script_files import FOLDER, MachineryPlace

    # A device such as /dev/stdout has no folder either.
    if not is_file(options.output):
        return None
    path = _script_path(options)
    again = f"cd {shlex.quote(os.getcwd())} && {shlex.join(made_by)}"
    if _is_private(options):  # the job's log must not show the values of --set
        again = f"by the command in the line 'made by' of {path}"
    return MachineryPlace(os.path.join(os.path.dirname(path), FOLDER), again)


def put_script(
    options: argparse.Namespace,
    files: Files,
    inputs: Collection[str],
    *,
    is_sourced: bool = False,
) -> None:
    """Write a script to the file of ``--output``, or to stdout.

    Args:
        files: the machinery's file goes to its folder next to the script.
        is_sourced: shells source the output of this command. If it goes into a pipe, a
            failing script explains that the step is in the file.

    Raises:
        EnvcfgError: as for ``check_script``.
    """
    if wants_script(options):
        write(files.script)
        return
    save_script(options, files, inputs)
    # A shell that sources an empty output would continue without having run
    # anything.
    stdout = stream_descriptor(STDOUT) if is_sourced else None
    if stdout is not None and S_ISFIFO(os.fstat(stdout).st_mode):
        import shlex

        name = one_line(options.output)
        run = f"bash {shlex.quote(name)}"
        # Only a shell that sources the pipe must fail; for `| tee log` the file is
        # enough.
        tell(f"{name} is written", "what is printed fails in a shell that sources it")
        message = f"envcfg: error: no step runs in this shell: it is in {name}"
        hint = f"  hint: run it: {run}, or leave out -o"
        write(failing_script([message, hint], EXIT_USAGE))
        return
    with BlockedSignals() as output:
        output.finish()


def save_script(
    options: argparse.Namespace, files: Files, inputs: Collection[str]
) -> None:
    """Write a script to the file of ``--output``; the command continues afterwards.

    Raises:
        EnvcfgError: as for ``check_script``.
    """
    from envcfg.common.safe_output import write_outputs

    data = files.script.encode("utf-8", "surrogateescape")
    output, private = _output(options, inputs), _is_private(options)
    if files.machinery:  # first, so that no script exists without it
        save_machinery(options, files, f"{one_line(options.output)} needs")
    # The mode is limited by the umask; a private script is readable by its owner
    # only.
    write_outputs([(output, data)], mode=0o777, private=private)


def save_machinery(options: argparse.Namespace, files: Files, needs: str) -> None:
    """Write the file that the script needs, and a note that begins with *needs*.

    Raises:
        OutputError: it cannot be written.
    """
    from envcfg.common.safe_output import keep_file
    from envcfg.job.plan.script_files import FOLDER

    folder = os.path.dirname(_script_path(options))
    file = os.path.join(folder, FOLDER, files.name)
    single = "--inline" if "inline" in options else "without --split, envcfg"
    hint = f"{single} writes a single file"
    keep_file(file, files.machinery.encode(), hint=hint)
    tell(f"{needs} the file {one_line(file)}: keep both", hint)


def _script_path(options: argparse.Namespace) -> str:
    """Return the absolute path of the script; of a link, that of its target."""
    path: str = os.path.abspath(options.output)
    # The machinery must be next to the real file, because a link may be removed.
    return os.path.realpath(path) if os.path.islink(path) else path


def _is_private(options: argparse.Namespace) -> bool:
    """Return whether the script has values of --set, or other secrets in its command."""
    import shlex

    command = shlex.join(options.command or ())
    has_values = any(word is not None for _, word in options.changes)
    return has_values or hide(command) != command


def wants_script(options: argparse.Namespace) -> bool:
    """Return whether the script goes to stdout, by the options of ``--output``."""
    if not options.output:
        return True
    from envcfg.common.safe_output import descriptor_of

    # -o /dev/stdout and -o - are the same stream.
    return descriptor_of(options.output) == STDOUT


def _output(options: argparse.Namespace, inputs: Collection[str]) -> Output:
    from envcfg.common.safe_output import Output

    return Output(options.output, "--output", "-o job.sh", inputs, force=options.force)

"""A launch line as scripts have it: a starter, a container runtime, the program; pure.

``srun -n 8 singularity exec -B /data pytorch.sif python train.py`` fixes the number of
tasks, their container and their command. Nothing is guessed. An unknown option is an
error, because it may take the next word as its value. The options are data in
``backends/programs``, which are read only for such a line.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from envcfg.backends import programs
from envcfg.backends.schedulers import SCHEDULERS
from envcfg.common.errors import UsageError
from envcfg.common.getopt import OptionWord, getopt, read_table


class ParsedLaunch(NamedTuple):
    """A launch line in envcfg's terms."""

    # The program that starts the tasks; `local`, with one rank, if none is named.
    launcher: str
    options: tuple[str, ...] = ()  # the options of that program
    container: str | None = None
    runtime: str | None = None
    binds: tuple[str, ...] = ()  # texts in the syntax of `--bind`
    arguments: tuple[str, ...] = ()
    settings: Mapping[str, str] = {}  # variables that the runtime sets in the container
    exports: Mapping[str, str] = {}  # variables that *options* and *arguments* set
    command: tuple[str, ...] = ()


class CertainError(UsageError):
    """Words that envcfg does not know or cannot use, whatever follows them."""


def begins_line(word: str) -> bool:
    """Return whether a word starts tasks or enters a container."""
    return programs.is_program(_name(word))


def starts_tasks(word: str) -> bool:
    """Return whether a word is the program of a starter."""
    return "launcher" in programs.read_line(_name(word))


def line_directive(word: str) -> str:
    """Return the beginning of directive lines in a script in which *word* starts the
    tasks."""
    scheduler = programs.read_line(_name(word)).get("scheduler")
    return SCHEDULERS[scheduler].mark if scheduler else ""


def deciding_options(word: str) -> list[str]:
    """Return the options of a starter that a plan depends on, spelled as in a line."""
    record = programs.read_line(_name(word))
    names = {
        *record.get("refused", ()), *record.get("images", ()), *record.get("exports", ()),
    }  # fmt: skip
    letters = [f"-{a}" for a, name in record["short"].items() if name in names]
    dash = "-" if record.get("single_dash") else "--"
    return [*letters, *(f"{dash}{name}" for name in sorted(names))]


def read_line(words: Sequence[str]) -> ParsedLaunch:
    """Parse a launch line.

    Raises:
        UsageError: an option is unknown or unusable, or the program is missing.
    """
    # Without a starter, the runtime alone runs one process, as on a login node.
    line = ParsedLaunch(launcher="local")
    first = programs.read_line(_name(words[0]))
    if "launcher" in first:
        line, words = _parse_words(
            line._replace(launcher=first["launcher"]), words, first
        )
    if words and (record := programs.read_line(_name(words[0]))):
        # A second starter would start the step once per task, so it is never right.
        if "launcher" in record:
            _refuse(words[0], "is inside a step", "start the step once")
        if line.container is not None:
            _refuse(
                words[0], "enters a container within a container", "name one of them"
            )
        if not whole_words(words):
            line, words = _parse_words(line, words, record)
    if not words:
        _fail("the launch line", "has no program", "write it after the options")
    return line._replace(command=tuple(words))


def _parse_words(
    line: ParsedLaunch, words: Sequence[str], record: Mapping[str, Any]
) -> tuple[ParsedLaunch, Sequence[str]]:
    """Parse the words of a starter or runtime, up to the command it runs.

    Pyxis and the Container Engine have their image among the options of the starter.
    """
    program, begin = _name(words[0]), 1
    line = line._replace(runtime=record.get("runtime", line.runtime))
    if "verbs" in record:
        begin = _behind_verb(words, record)
    options_read, end = _options(words, begin, record)
    rest = words[end + (words[end : end + 1] == ["--"]) :]
    # A colon separates the programs of an MPMD step. Ranks with different programs
    # have no common plan.
    if ":" in rest and record.get("ends_at_colon"):
        _fail(program, "starts several programs side by side", "start one program")
    images = record.get("images", {})
    image = next(
        (option.name for option in options_read if option.name in images), None
    )
    entered = images[image] if image else record
    image = image or record.get("image")
    # A runtime owns all its options. The prefix "\0" matches no option, so starters
    # without plug-ins keep theirs.
    own = "" if "runtime" in record else entered.get("own", "\0")
    # Default values are dropped, because repeating them would only lengthen the
    # generated line.
    is_single = record.get("single_dash")
    for option in options_read:
        if _is_default(option, record):
            continue
        words_given = words[option.begin : option.end]
        if option.name == image:
            line = line._replace(container=option.value, runtime=entered["runtime"])
        elif option.name == entered.get("binds"):
            line = line._replace(binds=(*line.binds, option.value or ""))
        elif option.name == entered.get("sets"):
            line = line._replace(settings={**line.settings, **_set(words, option)})
        else:
            # Programs with single-dash options do not understand --name=value, so
            # their words stay unchanged.
            words_shown = words_given if is_single else (_word(option),)
            if option.name.startswith(own):
                line = line._replace(arguments=(*line.arguments, *words_shown))
            else:
                line = line._replace(options=(*line.options, *words_shown))
            line = _exporting(line, option, words_given, record)
    # The image is a positional word here, and "--" may separate it from the
    # program.
    if image == "word" and rest:
        line, rest = line._replace(container=rest[0]), rest[1:]
        rest = rest[1:] if rest[:1] == ["--"] else rest
    if "image" in record and not line.container:
        # An image in a directive is not part of the line that a step is made of.
        word = "IMAGE" if record["image"] == "word" else f"--{record['image']}=IMAGE"
        # A program ends the options, so that no image can follow. The text of a variable
        # in a script may still be an option.
        fail = _refuse if rest and rest[0][:1] != "$" else _fail
        fail(program, "has no image", f"write {program} {word} before the program")
    return line, rest


def _exporting(
    line: ParsedLaunch,
    option: OptionWord,
    words: Sequence[str],
    record: Mapping[str, Any],
) -> ParsedLaunch:
    """Return the line with the settings of an option, which override the profile."""
    if option.name not in record.get("exports", ()):
        return line
    pairs = [option.value or ""]
    # mpirun -genv takes NAME and VALUE as two words.
    if len(words) > 2:
        pairs = ["=".join(words[1:])]
    elif record.get("lists"):
        pairs = pairs[0].split(",")
    pairs_split = (pair.partition("=") for pair in pairs)
    set_ = {name: text for name, equals, text in pairs_split if equals}
    return line._replace(exports={**line.exports, **set_})


def whole_words(words: Sequence[str]) -> Sequence[str]:
    """Return ``singularity run`` at the begin of *words*: its image decides the program."""
    record = programs.read_line(_name(words[0]))
    index = _verb_index(words, record)
    is_whole = "".join(words[index : index + 1]) in record.get("whole", ())
    return words[: index + 1] if is_whole else ()


def _verb_index(words: Sequence[str], record: Mapping[str, Any]) -> int:
    """Return the number of the first word that is no option of messages."""
    index = 1
    # Options before the verb are accepted without their values: those in the list
    # take none.
    while index < len(words) and words[index].lstrip("-") in record.get("before", ()):
        index += 1
    return index


def _behind_verb(words: Sequence[str], record: Mapping[str, Any]) -> int:
    """Return the index after ``exec``; options before it may only affect messages."""
    program, index = _name(words[0]), _verb_index(words, record)
    verb = words[index] if index < len(words) else ""
    why = record["verbs"].get(verb)
    if why is None:
        # The hint names the first verb without an objection, which is the usual
        # one.
        needed = next(name for name, why in record["verbs"].items() if not why)
        _fail(f"{program} {verb}".strip(), "is not known", f"write {program} {needed}")
    if why:
        _refuse(
            f"{program} {verb}", f"cannot be used: {why}", "name the program to start"
        )
    return index + 1


def _options(
    words: Sequence[str], begin: int, record: Mapping[str, Any]
) -> tuple[list[OptionWord], int]:
    """Return the options from index *begin*, and the index of the first other word."""
    options_read: list[OptionWord] = []
    for option in getopt(read_table(record), words, begin):
        # "--" ends the options, but a single "-" is a program that reads stdin.
        if not option.name:
            return options_read, option.begin
        if option.fault == "unknown":
            _fail_unknown(words, option)
        if option.fault == "missing":
            _fail(_shown(words, option), "lacks its value", "write it behind")
        why = record.get("refused", {}).get(option.name)
        # No value begins with "\0", so an option without an exception is always refused.
        allowed = record.get("unless", {}).get(option.name, "\0")
        is_allowed = (option.value or "").startswith(allowed)
        if why and not (is_allowed or _is_default(option, record)):
            _refuse(_shown(words, option), f"cannot be used: {why}", "leave it out")
        options_read.append(option)
    return options_read, len(words)


def _set(words: Sequence[str], option: OptionWord) -> dict[str, str]:
    """Return the settings of ``--env``, which may list several with commas."""
    settings = {}
    for part in (option.value or "").split(","):
        name, equals, text = part.partition("=")
        if not (equals and name.isidentifier()):
            _fail(_shown(words, option), "sets no variable", "write NAME=VALUE")
        settings[name] = text
    return settings


def _is_default(option: OptionWord, record: Mapping[str, Any]) -> bool:
    return (option.value or "") in record.get("default", {}).get(option.name, ())


def _word(option: OptionWord) -> str:
    """Return an option as one word."""
    return (
        f"--{option.name}"
        if option.value is None
        else f"--{option.name}={option.value}"
    )


def _name(word: str) -> str:
    return word.rpartition("/")[2]


def _shown(words: Sequence[str], option: OptionWord) -> str:
    """Return the program and the words of an option, for messages."""
    return " ".join((_name(words[0]), *words[option.begin : option.end]))


def _fail_unknown(words: Sequence[str], option: OptionWord) -> NoReturn:
    word = words[option.begin]
    _refuse(
        f"{_shown(words, option)}:",
        "this option is not known, and it may take the next word",
        f"write it as --srun-arg={word} or --runtime-arg={word}",
    )


def _refuse(subject: str, why: str, hint: str) -> NoReturn:
    msg = f"{subject} {why}"
    raise CertainError(msg, hint=hint)


def _fail(subject: str, why: str, hint: str) -> NoReturn:
    msg = f"{subject} {why}"
    raise UsageError(msg, hint=hint)

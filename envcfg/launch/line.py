"""A launch line as scripts have it: a starter, a container runtime, the program; pure.

``srun -n 8 singularity exec -B /data pytorch.sif python train.py`` says how many tasks
there are, in what, and what each runs. Nothing in it is guessed, and an option that is not
known is an error, as it may take the next word for its value. Which options there are is
data, ``knowledge/launch_lines.yaml``, read only for such a line.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from envcfg.errors import UsageError

# They begin a launch line; kept here, as every command is looked at.
_STARTERS = frozenset("srun flux mpiexec mpirun".split())
_BEGIN = _STARTERS | frozenset(
    "singularity apptainer shifter podman podman-hpc docker ch-run".split()
)


class Line(NamedTuple):
    """What a launch line says, in the words of envcfg.

    Attributes:
        launcher: who starts the tasks; ``local``, with one rank, where nobody is named.
        options: of who starts the tasks.
        container: the image; None: the line enters none.
        runtime: the runtime that enters it; None without an image.
        binds: texts as ``--bind`` takes them.
        arguments: other options of the runtime.
        settings: variables that the runtime sets in the container.
        exports: variables that *options* and *arguments* set.
        command: the program and its arguments.
    """

    launcher: str
    options: tuple[str, ...] = ()
    container: str | None = None
    runtime: str | None = None
    binds: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    settings: Mapping[str, str] = {}
    exports: Mapping[str, str] = {}
    command: tuple[str, ...] = ()


class OptionError(UsageError):
    """An option that envcfg does not know, or cannot do, whatever follows it."""


class _Told(NamedTuple):
    """An option: its long name, its value if it has one, and the words that stand there."""

    name: str
    value: str | None
    words: tuple[str, ...]

    @property
    def shown(self) -> str:
        return " ".join(self.words)


def begins_line(word: str) -> bool:
    """Tell whether a word is what starts tasks or enters a container."""
    return _name(word) in _BEGIN


def starts_tasks(word: str) -> bool:
    """Tell whether a word is the program of a starter."""
    return _name(word) in _STARTERS


def line_directive(word: str) -> str:
    """Return how a line has to begin in a script in which *word* starts the tasks."""
    from envcfg.datafile import load_knowledge_file

    known: Mapping[str, Any] = load_knowledge_file("launch_lines.yaml")
    return str(known.get(_name(word), {}).get("directive", ""))


def read_line(words: Sequence[str]) -> Line:
    """Return what a launch line says.

    Raises:
        UsageError: it has an option that is not known, or that envcfg cannot do; or there
            is not a program.
    """
    from envcfg.datafile import load_knowledge_file

    table: Mapping[str, Any] = load_knowledge_file("launch_lines.yaml")
    line = Line(launcher="local")
    first = table.get(_name(words[0]), {})
    if "launcher" in first:
        line, words = _read(line._replace(launcher=first["launcher"]), words, first)
    if words and (known := table.get(_name(words[0]))):
        if "launcher" in known:
            _fail(words[0], "is inside a step", "start the step once")
        if line.container is not None:
            _fail(words[0], "enters a container within a container", "name one of them")
        line, words = _read(line, words, known)
    if not words:
        _fail("the launch line", "has no program", "write it after the options")
    return line._replace(command=tuple(words))


def _read(
    line: Line, words: Sequence[str], known: Mapping[str, Any]
) -> tuple[Line, Sequence[str]]:
    """Read the words of a starter, or of what enters a container, up to what it runs.

    Pyxis and the Container Engine have their image among the options of the starter.
    """
    program, rest = _name(words[0]), words[1:]
    line = line._replace(runtime=known.get("runtime", line.runtime))
    if "verbs" in known:
        rest = _behind_verb(program, rest, known)
    told, rest = _options(program, rest, known)
    if ":" in rest and known.get("ends_at_colon"):
        _fail(program, "starts several programs side by side", "start one program")
    images = known.get("images", {})
    image = next((each.name for each in told if each.name in images), None)
    entered = images[image] if image else known
    image = image or known.get("image")
    own = "" if "runtime" in known else entered.get("own", "\0")
    for each in told:
        if _is_default(each, known):
            continue
        if each.name == image:
            line = line._replace(container=each.value, runtime=entered["runtime"])
        elif each.name == entered.get("binds"):
            line = line._replace(binds=(*line.binds, each.value or ""))
        elif each.name == entered.get("sets"):
            line = line._replace(settings={**line.settings, **_set(program, each)})
        else:
            shown = each.words if known.get("single_dash") else (_word(each),)
            if each.name.startswith(own):
                line = line._replace(arguments=(*line.arguments, *shown))
            else:
                line = line._replace(options=(*line.options, *shown))
            line = _exporting(line, each, known)
    if image == "word" and rest:
        line, rest = line._replace(container=rest[0]), rest[1:]
        rest = rest[1:] if rest[:1] == ["--"] else rest
    if "image" in known and not line.container:
        _fail(program, "has no image", "write it before the program")
    return line, rest


def _exporting(line: Line, told: _Told, known: Mapping[str, Any]) -> Line:
    """Return the line with what an option sets, which then goes before the profile."""
    if told.name not in known.get("exports", ()):
        return line
    pairs = [told.value or ""]
    if told.name in known.get("pairs", ()) and len(told.words) > 2:
        pairs = ["=".join(told.words[1:])]
    elif known.get("lists"):
        pairs = pairs[0].split(",")
    found = (each.partition("=") for each in pairs)
    set_ = {name: text for name, equals, text in found if equals}
    return line._replace(exports={**line.exports, **set_})


def _behind_verb(
    program: str, words: Sequence[str], known: Mapping[str, Any]
) -> Sequence[str]:
    """Return what stands behind ``exec``; options before it say only what is printed."""
    at = 0
    while at < len(words) and words[at].lstrip("-") in known.get("before", ()):
        at += 1
    verb = words[at] if at < len(words) else ""
    why = known["verbs"].get(verb)
    if why is None:
        wanted = next(name for name, why in known["verbs"].items() if not why)
        _fail(f"{program} {verb}".strip(), "is not known", f"write {program} {wanted}")
    if why:
        _fail(
            f"{program} {verb}", f"cannot be used: {why}", "name the program to start"
        )
    return words[at + 1 :]


def _options(
    program: str, words: Sequence[str], known: Mapping[str, Any]
) -> tuple[list[_Told], Sequence[str]]:
    """Return the options at the beginning of *words*, and what follows them."""
    rest, told = list(words), []
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        for option in _told(program, word, known):
            each = option
            if each.value is None and each.name in known["values"].split():
                if not rest:
                    what = f"{program} {each.shown}"
                    _fail(what, "lacks its value", "write it behind")
                is_pair = each.name in known.get("pairs", ()) and "=" not in rest[0]
                both, rest = rest[: 1 + is_pair], rest[1 + is_pair :]
                each = _Told(each.name, both[0], (*each.words, *both))
            _check_option(program, each, known)
            told.append(each)
    return told, rest


def _check_option(program: str, told: _Told, known: Mapping[str, Any]) -> None:
    why = known.get("refused", {}).get(told.name)
    allowed = known.get("unless", {}).get(told.name, "\0")
    if not why or (told.value or "").startswith(allowed) or _is_default(told, known):
        return
    msg = f"{program} {told.shown} cannot be used: {why}"
    raise OptionError(msg, hint="leave it out")


def _told(program: str, word: str, known: Mapping[str, Any]) -> Iterator[_Told]:
    """Yield the options of one word: a long one, or letters, the last with a value."""
    values, flags = known["values"].split(), known["flags"].split()
    attached = known.get("attached", "").split()
    name, equals, value = word.lstrip("-").partition("=")
    is_long = known.get("single_dash") and name not in known["short"]
    name = known.get("old", {}).get(name, name)
    if word.startswith("--") or (is_long and name in {*values, *flags}):
        if name not in {*values, *flags, *attached}:
            _fail_unknown(program, word)
        yield _Told(name, value if equals else None, (word,))
        return
    at = 1
    while at < len(word):
        name = known["short"].get(word[at], "")
        rest = word[at + 1 :]
        if known.get("single_dash") and not rest.isdigit() and rest:
            _fail_unknown(program, word)
        if name in values or name in attached:
            value = rest.removeprefix("=")
            yield _Told(name, value if rest else None, (word,))
            return
        if name not in flags:
            _fail_unknown(program, word)
        yield _Told(name, None, (f"-{word[at]}",))
        at += 1


def _set(program: str, told: _Told) -> dict[str, str]:
    """Return what ``--env`` sets: several, with commas between them."""
    found = {}
    for part in (told.value or "").split(","):
        name, equals, text = part.partition("=")
        if not (equals and name.isidentifier()):
            _fail(f"{program} {told.shown}", "sets no variable", "write NAME=VALUE")
        found[name] = text
    return found


def _is_default(told: _Told, known: Mapping[str, Any]) -> bool:
    return (told.value or "") in known.get("default", {}).get(told.name, ())


def _word(told: _Told) -> str:
    """Return an option as one word."""
    return f"--{told.name}" if told.value is None else f"--{told.name}={told.value}"


def _name(word: str) -> str:
    return word.rpartition("/")[2]


def _fail_unknown(program: str, word: str) -> NoReturn:
    msg = f"{program} {word}: this option is not known, and it may take the next word"
    raise OptionError(
        msg, hint=f"write it as --srun-arg={word} or --runtime-arg={word}"
    )


def _fail(what: str, why: str, hint: str) -> NoReturn:
    msg = f"{what} {why}"
    raise UsageError(msg, hint=hint)

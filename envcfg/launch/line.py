"""A launch line as scripts have it: srun, what enters a container, the program; pure.

``srun -n 8 singularity exec -B /data pytorch.sif python train.py`` says how many tasks
there are, in what, and what each runs. Nothing in it is guessed, and an option that is not
known is an error, as it may take the next word for its value. Which options there are is
data, ``knowledge/launch_lines.yaml``, read only for such a line.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from envcfg.errors import UsageError

# They begin a launch line; kept here, as every command is looked at.
_BEGIN = frozenset(
    "srun singularity apptainer shifter podman podman-hpc docker ch-run".split()
)


class Line(NamedTuple):
    """What a launch line says, in the words of envcfg.

    Attributes:
        launcher: who starts the tasks; ``local``, with one rank, where nobody is named.
        srun: options for srun.
        container: the image; None: the line enters none.
        runtime: the runtime that enters it; None without an image.
        binds: texts as ``--bind`` takes them.
        arguments: other options of the runtime.
        settings: variables that the runtime sets in the container.
        command: the program and its arguments.
        done: options that are left out, as envcfg does the same.
    """

    launcher: str
    srun: tuple[str, ...] = ()
    container: str | None = None
    runtime: str | None = None
    binds: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    settings: Mapping[str, str] = {}
    command: tuple[str, ...] = ()
    done: tuple[str, ...] = ()


class _Told(NamedTuple):
    """An option: its long name, its value if it has one, and how it stands there."""

    name: str
    value: str | None
    shown: str


def begins_line(word: str) -> bool:
    """Tell whether a word is what starts tasks or enters a container."""
    return _name(word) in _BEGIN


def read_line(words: Sequence[str]) -> Line:
    """Return what a launch line says.

    Raises:
        UsageError: it has an option that is not known, or that envcfg cannot do; or there
            is no program.
    """
    from envcfg.datafile import load_knowledge_file

    table: Mapping[str, Any] = load_knowledge_file("launch_lines.yaml")
    line = Line(launcher="local")
    first = table.get(_name(words[0]), {})
    if "launcher" in first:
        line, words = _srun(line._replace(launcher=first["launcher"]), words, first)
    if words and (known := table.get(_name(words[0]))):
        if "launcher" in known:
            _fail(words[0], "stands in a step", "start the step once")
        if line.container is not None:
            _fail(words[0], "enters a container within a container", "name one of them")
        line, words = _container(line, words, known)
    if not words:
        _fail("the launch line", "has no program", "write it behind the options")
    return line._replace(command=tuple(words))


def _srun(
    line: Line, words: Sequence[str], known: Mapping[str, Any]
) -> tuple[Line, Sequence[str]]:
    """Read srun's own words; Pyxis and the Container Engine have their image there."""
    told, rest = _options("srun", words[1:], known)
    if ":" in rest:
        _fail("srun", "starts several programs side by side", "start one program")
    images = known["images"]
    option = next((each.name for each in told if each.name in images), None)
    entered = images[option] if option else {}
    own = entered.get("own", "\0")
    for each in told:
        if _is_default(each, known):
            line = line._replace(done=(*line.done, f"srun {each.shown}"))
        elif each.name == option:
            line = line._replace(container=each.value, runtime=entered["runtime"])
        elif each.name == entered.get("binds"):
            line = line._replace(binds=(*line.binds, each.value or ""))
        elif each.name.startswith(own):
            line = line._replace(arguments=(*line.arguments, _word(each)))
        else:
            line = line._replace(srun=(*line.srun, _word(each)))
    return line, rest


def _container(
    line: Line, words: Sequence[str], known: Mapping[str, Any]
) -> tuple[Line, Sequence[str]]:
    """Read the words of a program that enters a container, up to the command in it."""
    program, rest = _name(words[0]), words[1:]
    if why := known.get("never"):
        hint = "give its image to --container, and the program alone"
        _fail(program, f"cannot be read in a launch line: {why}", hint)
    if "verbs" in known:
        rest = _behind_verb(program, rest, known)
    told, rest = _options(program, rest, known)
    line = line._replace(runtime=known["runtime"])
    for each in told:
        if _is_default(each, known):
            line = line._replace(done=(*line.done, f"{program} {each.shown}"))
        elif each.name == known["image"]:
            line = line._replace(container=each.value)
        elif each.name == known["binds"]:
            line = line._replace(binds=(*line.binds, each.value or ""))
        elif each.name == known.get("sets"):
            line = line._replace(settings={**line.settings, **_set(program, each)})
        else:
            line = line._replace(arguments=(*line.arguments, _word(each)))
    if known["image"] == "word" and rest:
        line, rest = line._replace(container=rest[0]), rest[1:]
        rest = rest[1:] if rest[:1] == ["--"] else rest
    if not line.container:
        _fail(program, "has no image", "write it before the program")
    return line, rest


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
    words, told = list(words), []
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        if word == "--":
            break
        for each in _told(program, word, known):
            if each.value is not None or each.name not in known["values"].split():
                told.append(each)
            elif words:
                value = words.pop(0)
                told.append(_Told(each.name, value, f"{each.shown} {value}"))
            else:
                _fail(f"{program} {each.shown}", "lacks its value", "write it behind")
    for each in told:
        why = known.get("refused", {}).get(each.name)
        if why and not _is_default(each, known):
            _fail(f"{program} {each.shown}", f"cannot be used: {why}", "leave it out")
    return told, words


def _told(program: str, word: str, known: Mapping[str, Any]) -> Iterator[_Told]:
    """Yield the options of one word: a long one, or letters, the last with a value."""
    values, flags = known["values"].split(), known["flags"].split()
    attached = known.get("attached", "").split()
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        if equals and (name in values or name in attached or name in flags):
            yield _Told(name, value, word)
        elif not equals and (name in values or name in flags or name in attached):
            yield _Told(name, None, word)
        else:
            _fail_unknown(program, word)
        return
    at = 1
    while at < len(word):
        name = known["short"].get(word[at], "")
        rest = word[at + 1 :]
        if name in values or name in attached:
            value = rest.removeprefix("=")
            yield _Told(name, value if rest else None, word)
            return
        if name not in flags:
            _fail_unknown(program, word)
        yield _Told(name, None, f"-{word[at]}")
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
    raise UsageError(msg, hint=f"write it as --srun-arg={word} or --runtime-arg={word}")


def _fail(what: str, why: str, hint: str) -> NoReturn:
    msg = f"{what} {why}"
    raise UsageError(msg, hint=hint)

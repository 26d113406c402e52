"""What a step is told, and what it starts: read from the outside to the program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from envcfg.characters import one_line
from envcfg.conversion.model import Argument, Left, Step, load_table
from envcfg.conversion.shells import is_transparent
from envcfg.conversion.trace import Script, Stood
from envcfg.errors import UsageError
from envcfg.launch.recognise import decided_words
from envcfg.lint.facts import job_shape, step_shape
from envcfg.lint.model import Array, Command
from envcfg.lint.program import SHELLS, find_agent, load_programs, options_of, unwrap
from envcfg.lint.text import Flat, Text, Word, plain
from envcfg.profile.identity import INSIDE, MASKS

# They start what stands behind them, and change nothing for a step.
_PASSED = frozenset({"exec", "command", "builtin", "env"})


class Reader:
    """Reads one step."""

    def __init__(self, script: Script, stood: Stood, *, pins: bool) -> None:
        """Begin where the step stands; *pins*: the profile binds ranks to cores."""
        self.script, self.stood, self.pins = script, stood, pins
        self.arguments: list[Argument] = []
        self.settings: dict[str, Text] = {}
        self.taken: list[str] = []
        self.left: list[Left] = []
        self.has_container = False

    def read(self, first: Command) -> Step:
        """Return the step that *first* is."""
        for each in reversed(self.script.model.ancestors(first)):
            if each.name not in _PASSED:
                own = each.words[: len(each.words) - len(first.words)]
                said = " ".join(word.shown for word in own)
                self._leave(each.at, said, "stands before the step")
        self._variants(first)
        command, words = first, first.words
        while True:
            self._assigned(command)
            following = self._enter(command)
            if following is None:
                if command.is_step:
                    self._fail_unknown(command)
                words = command.words
                if (
                    command.name in load_table()["containers"]
                    and not self.has_container
                ):
                    why = "what it starts is not known, so it stays as it is"
                    self._leave(command.at, command.name, why)
                break
            command = following
        words = tuple(each._replace(text=self._text(each.text)) for each in words)
        words = self._without_decided(words)
        self._shape(first, command)
        return Step(
            start=self.stood.start,
            end=self.stood.end,
            at=first.at,
            arguments=tuple(self.arguments),
            settings=self.settings,
            command=words,
            redirects=self.stood.redirects,
            taken=tuple(self.taken),
            left=tuple(self.left),
        )

    def _fail_unknown(self, step: Command) -> NoReturn:
        path, line = self.script.source.path, self.script.line(self.stood.start)
        said = one_line(" ".join(each.shown for each in step.words))[:60]
        msg = f"{path}:{line}: what '{said}' starts comes from outside of the script"
        raise UsageError(msg, hint="write the program out behind srun")

    def _leave(self, at: int, what: str, why: str) -> None:
        line = self.script.sources.line_number(at) if at >= 0 else 0
        self.left.append(Left(line, what, why))

    def _variants(self, first: Command) -> None:
        commands = self.script.model.commands[self.stood.first : self.stood.behind]
        others = {
            " ".join(w.shown for w in each.words)
            for each in commands
            if each.at == first.at and each.name == first.name and each is not first
        }
        taken = " ".join(w.shown for w in first.words)
        for each in sorted(others - {taken}):
            why = "another form of the step, by what is set in branches"
            self._leave(first.at, each, why)

    # What a command is, and what it starts

    def _enter(self, command: Command) -> Command | None:
        """Take over what *command* is told, and return what it starts; None: it is all."""
        name = command.name
        below = [
            each
            for each in self.script.model.children(command)
            if not each.substitution
        ]
        if len(below) != 1 or not self._is_same(command, below[0]):
            return None
        if command.is_step:
            self._srun(command)
        elif name in load_table()["containers"] and not self.has_container:
            self._container(command)
        elif name in SHELLS:
            if not is_transparent(self.script, command, below[0]):
                return None
        elif name not in _PASSED:
            return None
        return below[0]

    def _is_same(self, outer: Command, inner: Command) -> bool:
        """Return whether *inner* is run whenever *outer* is, and nothing around it."""
        context = inner.context._replace(options=outer.context.options)
        return context == outer.context and (not inner.output or not outer.unit)

    def _assigned(self, command: Command) -> None:
        """Take over what is set for *command* alone."""
        for each in self.script.model.assignments:
            inner = command.unit and each.unit == command.unit and each.command is None
            if each.command != command.number and not inner:
                continue
            if each.name in MASKS:
                self._leave(each.at, each.name, "envcfg shows each rank its GPUs")
            elif each.name in INSIDE:
                self.taken.append(each.name)
            elif isinstance(each.value, tuple) and not isinstance(each.value, Array):
                self.settings[each.name] = self.script.safe(each.value, self.stood)

    # Options

    def _srun(self, command: Command) -> None:
        table = load_table()["srun"]
        decided, pinned = table["decided"].split(), table["pinned"].split()
        words = command.words[1:]
        if command.is_open and (unknown := _first_unknown(words)):
            why = "options of srun that are not known"
            self._leave(unknown.at, unknown.shown, why)
        told = options_of(command.name, words)
        runtimes = table["runtimes"]
        image = next((name for name, _ in told if name in runtimes), None)
        binds = runtimes[image].get("binds") if image else None
        for name, word in told:
            said = f"--{name}" + (f"={word.shown}" if word else "")
            if name == image and word:
                self.has_container = True
                self._add("--container", word.text)
                self._add("--runtime", plain(runtimes[image]["runtime"]))
            elif name == binds and word:
                self._add("--bind", word.text)
            elif name in decided or (self.pins and name in pinned):
                self.taken.append(f"srun {said}")
            elif not self._repeats(name, word):
                self._add("--srun-arg", _option(name, word))

    def _repeats(self, name: str, word: Word | None) -> bool:
        """Return whether an option says what a line for the scheduler says already."""
        for each in self.script.model.directives:
            if each.name == name and not each.late:
                said = word.literal if word else None
                own = f"$SLURM_{name.upper().replace('-', '_')}"
                if said == each.value or (word and word.shown == own):
                    return True
        return False

    def _container(self, command: Command) -> None:
        entry = load_table()["containers"][command.name]
        self.has_container = True
        given = command.options.get("image")
        self._image(given, entry)
        words = command.words[1:]
        self._before_verb(command, words)
        for name, word in options_of(command.name, words):
            if name == entry.get("binds") and word:
                self._add("--bind", word.text)
            elif name == entry.get("sets") and word:
                self._environment(word)
            elif name != entry.get("image"):
                self._add("--runtime-arg", _option(name, word))
        found = unwrap(command.name, words)
        unknown = _first_unknown(words) if found and found.is_open else None
        if unknown and unknown.at != (given.at if given else -1):
            self._leave(unknown.at, unknown.shown, "options that are not known")

    def _image(self, given: Word | None, entry: Mapping[str, Any]) -> None:
        """Take over the image, and what lines for the scheduler say of the container."""
        asked = {
            each.name: each.value or ""
            for each in self.script.model.directives
            if each.name in entry.get("asked", ()) and not each.late
        }
        image = given.text if given else plain(asked.get("image", ""))
        if image:
            self._add("--container", image)
        self._add("--runtime", plain(entry["runtime"]))
        for volume in filter(None, asked.get("volume", "").split(";")):
            self._add("--bind", plain(volume))

    def _before_verb(self, command: Command, words: Sequence[Word]) -> None:
        """Say what is lost of the words up to ``exec`` or ``run``."""
        verbs = load_programs()[command.name].verbs
        if not verbs:
            return
        at = next(n for n, each in enumerate(words) if each.literal in verbs)
        for each in words[:at]:
            self._leave(each.at, each.shown, "an option before the verb")
        if command.is_image and words[at].literal == "run":
            why = "the image's runscript is left out: the command starts by itself"
            self._leave(words[at].at, f"{command.name} run", why)

    def _environment(self, word: Word) -> None:
        """Take over ``--env NAME=VALUE``; a comma begins another one."""
        flat = Flat(word.text)
        begin = 0
        for end in [
            *(n for n, c in enumerate(flat.chars) if c == ","),
            len(flat.chars),
        ]:
            name, equals, value = flat.chars[begin:end].partition("=")
            if equals and name.isidentifier():
                text = flat.cut(end - len(value), end)
                self.settings[name] = self.script.safe(text, self.stood)
            elif name:
                self._leave(word.at, word.shown, "no setting")
            begin = end + 1

    def _add(self, flag: str, value: Text) -> None:
        self.arguments.append(Argument(flag, self._text(value)))

    def _text(self, value: Text) -> Text:
        """Return *value* as it can be written where the step stands."""
        return self.script.spread(self.script.safe(value, self.stood), self.stood)

    # The program

    def _without_decided(self, words: Sequence[Word]) -> tuple[Word, ...]:
        """Return a command without what the job decides of its launcher's options."""
        decided = decided_words([each.shown for each in words])
        if decided:
            said = [words[n].shown for n in decided]
            names = [each.partition("=")[0] for each in said if each.startswith("-")]
            self.taken += [f"{words[0].shown} {each}" for each in names]
        return tuple(each for n, each in enumerate(words) if n not in decided)

    def _shape(self, first: Command, program: Command) -> None:
        """Say how many ranks there are, where that is not as the job's lines say."""
        job = job_shape(self.script.model)
        step = step_shape(first, job) if first.is_step else job
        shown = [each.shown for each in program.words]
        agent = find_agent(program.name, shown[1:])
        starts_agent = any(
            find_agent(os.path.basename(each), shown[n + 1 :])
            for n, each in enumerate(shown)
        ) or any(
            find_agent(each.name, [w.shown for w in each.arguments])
            for each in self._inside(program)
        )
        if agent:
            return
        if starts_agent:
            # It starts the ranks of its node itself, from within.
            self._add("--launcher", plain("srun"))
            self._add("--ranks", plain("1"))
        elif step.per_node is not None and step.per_node != job.per_node:
            self._add("--ranks", plain(str(step.per_node)))
        if step.nodes is not None and job.nodes is not None and step.nodes != job.nodes:
            said = f"{step.nodes} of {job.nodes} nodes"
            self._leave(first.at, said, "the step runs on all nodes of its job")

    def _inside(self, command: Command) -> list[Command]:
        found, left = [], list(self.script.model.children(command))
        while left:
            each = left.pop()
            found.append(each)
            left += self.script.model.children(each)
        return found


def _first_unknown(words: Sequence[Word]) -> Word | None:
    """Return the first word that may be several, of which not even the first is known."""
    return next((each for each in words if each.is_loose and each.text[0].hole), None)


def _option(name: str, word: Word | None) -> Text:
    dashes = "-" if len(name) == 1 else "--"
    if word is None:
        return plain(f"{dashes}{name}")
    return (*plain(f"{dashes}{name}="), *word.text)

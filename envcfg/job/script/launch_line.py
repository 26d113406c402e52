"""The line that starts the ranks, with all values known before the job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envcfg.job.plan.applicable_settings import GIVEN
from envcfg.job.plan.plan import Plan
from envcfg.job.script.module_choice import (
    launch_module,
    programs,
    runtime_module,
    shell_of,
)
from envcfg.job.script.modules import module
from envcfg.job.script.quoting import cpu_ranges, quote
from envcfg.job.script.settings import bind_word

_COMMAND = ("COMMAND...",)


def render_launch_line(plan: Plan) -> str:
    """Return the launch line; values known only in the job are variables."""
    return " ".join(launch_words(plan))


def launch_words(plan: Plan) -> Iterator[str]:
    """Yield the words of the launch line, each in the syntax of bash."""
    values = {
        "OPTIONS": _options(plan),
        "ENTER": _enter(plan),
        "SHELL": [shell_of(plan)],
        "COMMAND": [quote(word) for word in plan.options.command] or _COMMAND,
    }
    for word in _line(plan):
        yield from values.get(word, (word,))


def added_options(plan: Plan) -> tuple[str, ...]:
    """Return the starter's options that the user did not give, in the syntax of bash."""
    line = _line(plan)
    if "OPTIONS" not in line:
        return ()
    words = (*line[1 : line.index("OPTIONS")], *_options(plan), *plan.starter.adds)
    names = _given_names(plan)
    return tuple(word for word in words if word.partition("=")[0] not in names)


def _line(plan: Plan) -> list[str]:
    """Return the words of the launch line with the names of their groups."""
    # The starter's module has the line, unless it differs between ranks and agents.
    line = module(launch_module(plan)).declared("launch")
    return line or module(plan.starter.name).declared("launch")


def _given_names(plan: Plan) -> set[str]:
    """Return the names of the starter's options that the user gave."""
    arguments = (a for a in plan.starter_options if a.reason == GIVEN)
    return {argument.word.partition("=")[0] for argument in arguments}


def is_bound_by_user(plan: Plan) -> bool:
    """Return whether an option of the user's binds ranks to cores."""
    own = {word.partition("=")[0] for word in plan.starter.pin}
    return not own.isdisjoint(_given_names(plan))


def _options(plan: Plan) -> Iterator[str]:
    yield from (quote(argument.word) for argument in plan.starter_options)
    for bundle in plan.bundles:
        yield from (f"--network={value}" for value in bundle.network)
        program = plan.starter.bundled[0]
        yield from map(quote, getattr(bundle, program))
    if plan.masks and not is_bound_by_user(plan):
        masks = plan.masks.masks
        filled = {"masks": ",".join(masks), "cpus": ":".join(map(cpu_ranges, masks))}
        filled["depth"] = str(int(masks[0], 16).bit_count())
        yield from (word.format(**filled) for word in plan.starter.pin)


def _enter(plan: Plan) -> Iterator[str]:
    """Yield the words that enter the container, in the order of the runtime's module."""
    container = plan.container
    if container is None:
        return
    entering = module(runtime_module(plan))
    filed = container.runtimes[0].filed
    mounts = [
        quote(argument.word)
        for argument in container.arguments
        if not argument.word.startswith(filed)
    ]
    for bind in container.binds:
        words = entering.declared("bind")
        mounts += [bind_word(bind) if word == "BIND" else word for word in words]
    values = {
        "MOUNTS": mounts,
        "NAME": programs(container)[:1],
        "VERB": [container.verb],
        "IMAGE": [quote(container.image)],
    }
    for word in entering.declared("enter"):
        yield from values.get(word, (word,))


def wrapped(words: Sequence[str], width: int) -> Iterator[str]:
    """Yield the words in lines of about *width* characters that bash joins."""
    line = ""
    for word in words:
        if line and len(line) + len(word) > width:
            yield f"{line} \\"
            line = "  "
        line += word if line in ("", "  ") else f" {word}"
    yield line

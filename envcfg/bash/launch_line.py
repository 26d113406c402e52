"""The line that starts the ranks, with what is known of it: from the template that does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from envcfg import runtimes
from envcfg.bash.choice import (
    launch_texts,
    programs,
    runtime_module,
    shell_of,
)
from envcfg.bash.modules import module
from envcfg.bash.quoting import cpu_ranges, quote
from envcfg.bash.settings import bind_word
from envcfg.launch.plan import Plan
from envcfg.starters import STARTERS

_LINE = re.compile(r"\benvcfg_spawn exec ((?:[^\n]*\\\n)*[^\n]*)\n")
_ADDED = re.compile(r"\b(?:ENVCFG_ENTER\+?=\(([^)\n]+)\)|envcfg_mounts$)", re.MULTILINE)
_COMMAND = ("COMMAND...",)


def render_launch_line(plan: Plan) -> str:
    """Return the launch line; what only the job can fill in stands as a variable."""
    return " ".join(launch_words(plan))


def launch_words(plan: Plan) -> Iterator[str]:
    """Yield the words of the launch line, each as bash reads it."""
    found = (match for text in launch_texts(plan) if (match := _LINE.search(text)))
    line = next(found)[1]
    array = "".join(STARTERS[plan.starter].bundled[:1]).upper()
    options = f'"${{ENVCFG_{array}[@]}}"'
    known = {
        options: [*_options(plan), options],
        '"${envcfg_task[@]}"': [],  # only where the runtime keeps the environment out
        '"${ENVCFG_ENTER[@]}"': list(_enter(plan)),
        '"$ENVCFG_SHELL"': [shell_of(plan)],
        '"$@"': [quote(word) for word in plan.command] or _COMMAND,
    }
    for word in line.replace("\\\n", " ").split():
        yield from known.get(word, (word,))


def _options(plan: Plan) -> Iterator[str]:
    yield from (quote(each.word) for each in plan.started)
    for bundle in plan.bundles:
        yield from (f"--network={value}" for value in bundle.network)
        program = STARTERS[plan.starter].bundled[0]
        yield from map(quote, getattr(bundle, program))
    if plan.masks and "cpu_masks" in STARTERS[plan.starter].sections:
        masks = plan.masks.masks
        filled = {"masks": ",".join(masks), "cpus": ":".join(map(cpu_ranges, masks))}
        yield from (each.format(**filled) for each in STARTERS[plan.starter].pin)


def _enter(plan: Plan) -> Iterator[str]:
    """Yield the words that enter the container, in the order of the runtime's template."""
    container = plan.container
    if container is None:
        return
    first = container.runtimes[:1]
    text = module(runtime_module(plan)).text
    filed = runtimes.runtime(first[0]).filed
    mounts = [
        quote(each.word)
        for each in container.arguments
        if not each.word.startswith(filed)
    ]
    for bind in container.binds:
        mounts += _added(text, "envcfg_bind", {'"${2-$1}"': [bind_word(bind)]})
    known = {
        "envcfg_mounts": mounts,
        '"$envcfg_name"': programs(container)[:1],
        '"$ENVCFG_VERB"': [container.verb],
        '"$envcfg_image"': [quote(container.image)],
    }
    yield from _added(text, "envcfg_enter", known)


def _added(text: str, function: str, known: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what a function of a template adds to ENVCFG_ENTER, with what is *known*."""
    body = f"\n{text}".partition(f"\n{function}() {{")[2].partition("\n}\n")[0]
    words = (
        word
        for match in _ADDED.finditer(body)
        for word in (match[1] or match[0]).split()
    )
    return [each for word in words for each in known.get(word, (word,))]


def wrapped(words: Sequence[str], width: int) -> Iterator[str]:
    """Yield the words in lines of about *width* characters that bash reads as one."""
    line = ""
    for word in words:
        if line and len(line) + len(word) > width:
            yield f"{line} \\"
            line = "  "
        line += word if line in ("", "  ") else f" {word}"
    yield line

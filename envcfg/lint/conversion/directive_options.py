"""Options of a container runtime in directives, written into the launch lines.

Slurm's plugin of Shifter hands the image of ``#SBATCH --image`` to ``shifter`` in the job.
A step is planned before the job, from the words of its line.
"""

from __future__ import annotations

from envcfg.backends import programs
from envcfg.job.script.quoting import quote
from envcfg.lint.conversion.rewrite import apply_edits
from envcfg.lint.lint_rule import Edit
from envcfg.lint.script_model import Model
from envcfg.lint.script_source import Source


def write_directive_options(source: Source, model: Model) -> tuple[str, dict[int, str]]:
    """Return the script with the options that its runtimes take from directives.

    Its lines keep their numbers. The second result are the options of each runtime, by
    the offset of its word in the sources.
    """
    values = {d.name: d.value for d in model.directives if d.value and not d.late}
    options: dict[int, str] = {}
    changes = {}
    for command in model.commands:
        names = programs.read_line(command.name).get("directives", "").split()
        words = [
            f"--{name}={quote(values[name])}"
            for name in names
            if name in values and name not in command.options
        ]
        offset, program = command.offset - source.base, command.words[0].shown
        end = offset + len(program)
        # A name from a variable or another file is left to the job.
        if words and offset >= 0 and source.chars[offset:end] == program:
            options[command.offset] = f"{program} {' '.join(words)}"
            changes[end] = Edit(end, end, "".join(f" {word}" for word in words))
    return apply_edits(source.chars, list(changes.values())), options

"""What stands on stdout when ``envcfg wrap`` fails: a script that fails.

``source <(envcfg wrap ...)`` succeeds when nothing is printed, and the job would go on. So
this module needs nothing that could be broken, and prints a script when in doubt.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

_WITH_VALUE = frozenset(
    "--profile --container --runtime --runtime-arg --bind --launcher --srun-arg --ranks "
    "--set --unset --fact".split()
)


def failing_script(lines: Sequence[str], exit_code: int) -> str:
    """Return bash that reports *lines* and fails, sourced, evaluated or run."""
    words = " ".join(shlex.quote(line) for line in lines)
    return f"""\
#!/usr/bin/env bash
# shellcheck disable=SC1003,SC2016 # quoted texts are meant as they stand
# envcfg wrap has failed. A shell that nobody sits at ends here, so that a job does not go
# on without its step.
printf '%s\\n' {words} >&2
if [[ $- != *i* ]]; then exit {exit_code}; fi
return {exit_code}
"""


def wants_script(words: Sequence[str]) -> bool:
    """Tell whether this command line asks for a script on stdout."""
    rest = iter(words)
    if next(rest, None) != "wrap":
        return False
    for word in rest:
        name, equals, value = word.partition("=")
        if name in _WITH_VALUE:
            if not equals:
                next(rest, None)
        elif name == "--print":
            if (value if equals else next(rest, "")) in {"plan", "exec-line"}:
                return False
        elif name in {"--json", "--output", "-h", "--help"} or word.startswith("-o"):
            return False
        elif word == "--":
            break
    return True

"""Any words make a command line that is read, or one that is refused in a sentence."""

from __future__ import annotations

import pytest

from envcfg.cli import build_parser
from envcfg.commands import NAMES
from envcfg.common.errors import UsageError
from fuzzing import chance, times

pytestmark = pytest.mark.nightly

WORDS = (
    *(
        "--",
        "-",
        "",
        "=",
        "--=",
        "-=",
        "\u2014",
        "\u2014x",
        "-1",
        "-1.5",
        "-x y",
        "%s",
        "{}",
    ),
    *("--container", "--containr", "--container=", "x.sif", "none", "--profile", "-p"),
    *("-N", "-N2", "-o", "-oX", "--output=", "--json", "--json=1", "--set", "A=1", "A"),
    *(
        "--launcher",
        "srun",
        "sruns",
        "--ranks",
        "4",
        "four",
        "--help-me",
        "list",
        "show",
    ),
    *("--nccl-debug", "--nccl-debug=x", "--fact", "\udc80", "\n", "--\n", "-\x1b[31m"),
    *("wrap", "wrp", "profiles", "--version-", "--interval", "2s", "--expect-nics"),
)


@pytest.mark.parametrize("command", ["", *NAMES])
def test_a_command_line_is_read_or_refused_in_a_sentence(command: str) -> None:
    dice, silent = chance(), []
    for _ in range(400 * times):
        words = dice.choices(WORDS, k=dice.randrange(1, 7))
        try:
            given = [command, *words] if command else words
            build_parser(command or None).parse_args(given)
        except UsageError as err:
            silent += [] if err.message and err.hint else [words]
    assert silent == []

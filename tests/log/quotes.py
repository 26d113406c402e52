"""Forms in which a program, a shell or a person prints lines of another log again.

None of them is the prefix of a launcher. A table maps each form to a function of a line;
``WHOLE`` has the forms that need the whole text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

Quote = Callable[[str], str]


def _front(text: str) -> Quote:
    return lambda line: text + line


def _around(before: str, after: str) -> Quote:
    return lambda line: before + line + after


_FRONTS = {
    "mail": "> ",
    "mail-twice": ">> ",
    "mail-tight": ">",
    "python-prompt": ">>> ",
    "sentence": "see for instance: ",
    "previous": "previous run: ",
    "one-word": "old: ",
    "word-and-number": "log2: ",
    "run-and-number": "run 7: ",
    "rank-and-number": "rank 0: ",
    "indented": "    ",
    "tab": "\t",
    "dash": "- ",
    "star": "* ",
    "numbered": "1. ",
    "comment": "# ",
    "slashes": "// ",
    "prompt": "$ ",
    "long-prompt": "(base) me@login1:~/run$ ",
    "echo": "$ echo ",
    "xtrace": "+ ",
    "xtrace-echo": "+ echo ",
    "grep": "slurm-6.out:",
    "grep-lines": "slurm-6.out:12:",
    "grep-number": "12:",
    "grep-context": "slurm-6.out-12-",
    "cat-lines": "     12\t",
    "diff": "< ",
    "diff-new": "+",
    "diff-old": "-",
    "diff-tight": "<",
    "logging-basic": "INFO:root:",
    "logging-dashes": "2026-03-14 09:26:53,123 - root - INFO - ",
    "logging-time": "2026-03-14 09:26:53,123 INFO ",
    "logging-module": "2026-03-14 09:26:53,123 __main__: ",
    "loguru": "2026-03-14 09:26:53.123 | INFO     | __main__:main:12 - ",
    "hydra": "[2026-03-14 09:26:53,123][root][INFO] - ",
    "absl": "I0314 09:26:53.123456 12345 train.py:33] ",
    "level": "[INFO] ",
    "debug": "DEBUG ",
    "wandb": "wandb: ",
    "wandb-brackets": "[wandb] ",
    "stream": "stdout: ",
    "stream-brackets": "[stdout] ",
    "parentheses": "(log) ",
    "ray-without-pid": "(RayWorker) ",
    "escaped-mail": "&gt; ",
    "html": "<pre>",
    "box": "│ ",
    "notebook": "# MAGIC ",
    "pytest": "E   ",
    "text-is": "text=",
    "tqdm": "  3%|▎         | 3/100 [00:01<00:20,  4.70it/s]",
    "tqdm-write": "\r" + 60 * " " + "\r",
    "zero-width": "\u200b",
    "byte-order-mark": "\ufeff",
    "hard-blank": "\xa0",
    # The form of a launcher, and the lines of all ranks come from one of its tasks.
    "srun-of-one": "0: ",
    "torch-of-one": "[rank0]: ",
    "ompi-of-one": "[1,0]<stdout>:",
    "mpich-of-one": "[0] ",
    "pdsh-of-one": "nid001001: ",
    "pals-of-one": "nid001001 0: ",
    "ray-of-one": "(RayWorker pid=99, ip=10.0.0.1) ",
    "logger-of-one": "Mar 14 09:26:53 nid001001 train[12]: ",
}
LINES: Mapping[str, Quote] = {
    **{name: _front(text) for name, text in _FRONTS.items()},
    "double-quotes": _around('"', '"'),
    "single-quotes": _around("'", "'"),
    "backticks": _around("`", "`"),
    "print": _around("print('", "')"),
    "repr-list": _around("['", "']"),
    "repr-bytes": _around("b'", "\\n'"),
    "json-dump": lambda line: f"  {json.dumps(line)},",
    "json-message": lambda line: json.dumps({"message": line}),
    "json-log": lambda line: json.dumps({"log": line}),
    "json-event": lambda line: json.dumps({"event": "old", "text": line}),
    "table": _around("| ", " |"),
    "green": _around("\x1b[32m", "\x1b[0m"),
    "grep-colour": lambda line: line.replace(
        "NCCL", "\x1b[01;31m\x1b[KNCCL\x1b[m\x1b[K"
    ),
}
WHOLE: Mapping[str, Quote] = {
    "fence": lambda text: f"```\n{text}```\n",
    "fence-of-language": lambda text: f"```text\n{text}```\n",
    "fence-tildes": lambda text: f"~~~\n{text}~~~\n",
    "indented-fence": lambda text: f"  ```console\n{text}  ```\n",
    "details": lambda text: f"<details><pre>\n{text}</pre></details>\n",
    "repr-of-all": lambda text: repr(text) + "\n",
    "json-of-all": lambda text: json.dumps({"text": text}) + "\n",
}


def quoted(form: str, text: str) -> str:
    """Return the lines of *text* in a *form* of the two tables."""
    if form in WHOLE:
        return WHOLE[form](text)
    return "".join(f"{LINES[form](line)}\n" for line in text.splitlines())


FORMS = (*LINES, *WHOLE)

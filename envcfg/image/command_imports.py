"""Installed commands of an image that start processes by a launcher; nothing is executed.

Such a command may start the ranks of its node, or need a cluster, itself. Its module is
read, the modules of its own package that this one imports, and those in its own folder
that these import. ``import accelerate`` or ``import ray`` alone is no sign: ranks and
harmless commands have it too.
"""

import re
from collections.abc import Iterator, Mapping

from envcfg.image.python_packages import distributions, find_python
from envcfg.image.tree import Tree

_LONGEST = 1 << 17  # characters of a module
_MOST_MODULES = 60  # that are read for one command
_ENTRY = re.compile(r"(?m)^[ \t]*([\w.-]+)[ \t]*=[ \t]*([\w.]+)")
_IMPORT = re.compile(
    r"(?m)^[ \t]*(?:from[ \t]+(?P<base>[\w.]+)[ \t]+import[ \t]+"
    r"(?P<names>\([^)]{0,2000}\)|.*)"
    r"|import[ \t]+(?P<modules>[\w., \t]+))"
)
_LAUNCHER = re.compile(
    r"(torch\.distributed\.(?:run|launch|launcher)|deepspeed\.launcher|ray\.init"
    r"|accelerate\.(?:commands\.launch|launchers|notebook_launcher|debug_launcher))"
    r"(?:\.|$)"
)
# The words of a command in quotes: a program, followed by its options or another word.
_COMMAND = re.compile(
    r"[\"'](?:-m )?(torchrun|torch\.distributed\.(?:run|launch)"
    r"|accelerate(?=(?:[\"'],\s*[\"']| )launch\b))(?:[\"']| +[-{l])"
)
_LAUNCHERS_OWN = ("accelerate.", "deepspeed.", "ray.", "torch.")


def command_imports(
    tree: Tree, environ: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Return the launcher that each installed command uses, and the file with it.

    Args:
        environ: the variables of the image.

    Raises:
        OSError: the image is damaged, or cannot be read.
    """
    python = find_python(tree, environ)
    commands: dict[str, tuple[str, str]] = {}
    for site in python.sites if python else ():
        for _, _, path in distributions(tree, site):
            text = tree.text(f"{path}/entry_points.txt", _LONGEST) or ""
            section = text.partition("[console_scripts]")[2].partition("\n[")[0]
            for name, module in _ENTRY.findall(section):
                # The first folder of the search path has the command.
                if name not in commands and (launcher := _launcher(tree, site, module)):
                    commands[name] = launcher
    return commands


def _launcher(tree: Tree, site: str, module: str) -> tuple[str, str] | None:
    """Return the launcher that the command of *module* uses, and the file with it."""
    if module.startswith(_LAUNCHERS_OWN):
        return None
    # The command's own folder is that of its module; all it imports there is part of it.
    folder = package = module.partition(".")[0]
    modules = [module]
    for name in modules:  # which grows
        path, text = _source(tree, site, name)
        is_package = path.endswith("/__init__.py")
        parent = name if is_package else name.rpartition(".")[0]
        imports = [*_imports(text, parent)]
        if launcher := _launcher_in(text, imports):
            return launcher, path
        if name == module:
            folder = parent or package
        near = package if name == module else folder
        own = (other for other in imports if f"{other}.".startswith(f"{near}."))
        modules += [other for other in dict.fromkeys(own) if other not in modules]
        del modules[_MOST_MODULES:]
    return None


def _launcher_in(text: str, imports: list[str]) -> str | None:
    """Return the launcher that a module imports, or starts by its words."""
    for name in imports:
        if match := _LAUNCHER.match(name):
            return match[1].removesuffix(".init")
    if "ray" in imports and "ray.init(" in text:
        return "ray"
    match = _COMMAND.search(text)
    return match[1] if match else None


def _source(tree: Tree, site: str, module: str) -> tuple[str, str]:
    """Return path and text of the file of *module*; empty if there is none."""
    stem = f"{site}/{module.replace('.', '/')}"
    for path in (f"{stem}.py", f"{stem}/__init__.py"):
        if text := tree.text(path, _LONGEST):
            return path, text
    return "", ""


def _imports(text: str, package: str) -> Iterator[str]:
    """Yield the modules that *text* imports; a name may also be one of a function.

    >>> [*_imports("from .b import c as d\\nimport ray, os.path as p", "a")]
    ['a.b.c', 'a.b', 'ray', 'os.path']
    """
    for match in _IMPORT.finditer(text):
        base = match["base"]
        if base is None:
            yield from (
                part.split()[0] for part in match["modules"].split(",") if part.strip()
            )
            continue
        dots = len(base) - len(base.lstrip("."))
        if dots:
            parts = package.split(".")
            parent = parts[: len(parts) + 1 - dots]
            base = ".".join([*parent, base[dots:]]).rstrip(".")
        names = re.sub(r"#.*", "", match["names"]).strip("() \n")
        yield from (
            f"{base}.{part.split()[0]}" for part in names.split(",") if part.strip()
        )
        yield base

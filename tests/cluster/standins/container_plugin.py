"""What Pyxis' options and the Container Engine's file mean, for container_plugin.c.

Usage: container_plugin.py FOLDER [NAME VALUE]...

The rules are those that were tried with Pyxis 0.24.0 and Enroot 4.1.2, and that CSCS
documents for its Container Engine (August 2026). What it refuses ends the step; its message
is in FOLDER/error. Else FOLDER/root is the image, and FOLDER/plan says what each task does.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import tomllib

# Of the host, whatever its value; the container has its own, or the image's.
NEVER = ("PATH", "LD_LIBRARY_PATH", "LD_PRELOAD")
LOCALE = ("LANG", "LANGUAGE", "LC_ALL")
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
KEYS = {
    "base_environment", "image", "workdir", "entrypoint", "writable", "mounts", "env",
    "annotations", "devices",
}  # fmt: skip
FLAG = r"ro|rw|private|rprivate|slave|rslave|shared|rshared|bind|rbind|x-create=\w+"


class RefusedError(Exception):
    """A message for the user."""


def expanded(text: str) -> str:
    """Return *text* of a file with ``${NAME}`` filled in; ``$$`` is a dollar."""

    def value(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        name, _, default = (match[1] or "").partition(":-")
        if name in os.environ:
            return os.environ[name]
        if ":-" not in (match[1] or ""):
            msg = f"undefined variable in the EDF: {match[0]}"
            raise RefusedError(msg)
        return default

    return re.sub(r"\$\$|\$\{([^}]*)\}|\$", value, text)


def checked(name: str, kind: type, value: object) -> object:
    if not isinstance(value, kind):
        msg = f"EDF: {name} is no {kind.__name__}: {value!r}"
        raise RefusedError(msg)
    return value


def environment(name: str, depth: int = 0) -> dict[str, object]:
    """Return what an EDF says, with those that it is based on; one replaces the other."""
    if depth > 10:
        raise RefusedError("EDF: more than 10 levels of base_environment")
    path = Path(name)
    if not name.startswith(("/", "./")):
        found = os.environ.get("EDF_PATH", f"{os.environ['HOME']}/.edf").split(":")
        path = next(
            (each for where in found if (each := Path(where, f"{name}.toml")).exists()),
            path,
        )
    try:
        own = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as err:
        msg = f"EDF {path}: {err}"
        raise RefusedError(msg) from err
    if unknown := own.keys() - KEYS:
        msg = f"EDF {path}: unknown keys: {', '.join(sorted(unknown))}"
        raise RefusedError(msg)
    bases = own.pop("base_environment", [])
    merged: dict[str, object] = {}
    for base in [bases] if isinstance(bases, str) else bases:
        merged |= environment(expanded(base), depth + 1)
    mounts = [
        *merged.get("mounts", []),
        *checked("mounts", list, own.get("mounts", [])),
    ]
    merged |= own
    return merged | {"mounts": mounts}


def mounts_of(parts: list[str]) -> list[tuple[str, str, str]]:
    """Return source, target and flags; a path has no way to hold a comma or a colon."""
    found = []
    for part in parts:
        source, *more = part.split(":")
        target, flags = (*more, "", "")[:2]
        if len(more) > 2 or not source.startswith(("/", ".")):
            msg = f"invalid format: {part}"
            raise RefusedError(msg)
        if stray := [
            each for each in flags.split("+") if not re.fullmatch(f"({FLAG})?", each)
        ]:
            msg = f"invalid flags: {'+'.join(stray)}"
            raise RefusedError(msg)
        if any(sign in part for sign in '$`"'):  # bash would expand it, between quotes
            msg = f"the line for bash is broken by {part}"
            raise RefusedError(msg)
        if not os.path.exists(source):
            msg = f"mount source does not exist: {source}"
            raise RefusedError(msg)
        found.append((source, target or source, flags))
    return found


def unpacked(image: str, root: Path) -> None:
    """Unpack a squashfs file; what begins otherwise would be looked for in a registry."""
    if not image.startswith(("/", "./")):
        msg = f"[ERROR] URL https://registry/{image}: there is no registry here"
        raise RefusedError(msg)
    done = subprocess.run(
        ["unsquashfs", "-q", "-n", "-user-xattrs", "-d", root, image],
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode != 0:
        msg = f"[ERROR] Invalid image format: {image}: {done.stderr.strip()}"
        raise RefusedError(msg)


def image_environment(root: Path) -> dict[str, str]:
    """Return the image's variables, as ``enroot import`` writes them."""
    file = root / "etc/environment"
    lines = file.read_text().splitlines() if file.exists() else []
    return dict(line.split("=", 1) for line in lines if "=" in line)


def image_folder(root: Path) -> str:
    """Return the image's folder, as ``enroot import`` writes it into its start script."""
    file = root / "etc/rc"
    found = re.search(
        r'^cd "(.*)"', file.read_text() if file.exists() else "", re.MULTILINE
    )
    return found[1] if found else "/"


def entered(root: Path, variables: dict[str, str]) -> dict[str, str]:
    """Return the variables that the image's start script leaves, as its tasks have them."""
    done = subprocess.run(
        ["unshare", "-r", "chroot", root, "/bin/sh", "/etc/rc", "env"],
        capture_output=True,
        check=False,
        env={"PATH": DEFAULT_PATH} | variables,
        text=True,
    )
    if done.returncode != 0:
        msg = f"[ERROR] the entrypoint failed: {done.stderr.strip()}"
        raise RefusedError(msg)
    lines = [line.split("=", 1) for line in done.stdout.splitlines() if "=" in line]
    shells = ("PWD", "OLDPWD", "SHLVL", "_")
    return {name: value for name, value in lines if name not in shells}


def main(folder: Path, given: dict[str, str]) -> None:
    folder.mkdir(mode=0o755)
    is_engine = "environment" in given
    variables: dict[str, str] = {}
    enters = False
    if is_engine:
        said = environment(given["environment"])
        image = expanded(str(checked("image", str, said.get("image"))))
        parts = [expanded(str(each)) for each in said["mounts"]]
        workdir = expanded(str(said.get("workdir", "")))
        for name, value in dict(said.get("env", {})).items():
            variables[name] = expanded(str(checked(name, str, value)))
        (folder / "annotations").write_text(repr(said.get("annotations", {})))
        enters = bool(checked("entrypoint", bool, said.get("entrypoint", False)))
    else:
        image, workdir = given["image"], given.get("workdir", "")
        parts = [each for each in given.get("mounts", "").split(",") if each]
    mounts = mounts_of(parts)
    root = folder / "root"
    unpacked(image, root)
    kept = given.get("env", "").split(",")
    own = image_environment(root)
    if (
        "PYTORCH_VERSION" in own and not is_engine
    ):  # as Enroot's hook 50-slurm-pytorch.sh
        job = int(os.environ["SLURM_JOB_ID"])
        own |= {
            "MASTER_ADDR": os.environ["SLURM_STEP_NODELIST"],
            "MASTER_PORT": str(61000 + job % 4536),
            "WORLD_SIZE": os.environ["SLURM_NTASKS"],
            "OMP_NUM_THREADS": "1",
        }
    if enters:
        variables = entered(root, own | variables)
    plan: list[str] = []
    (folder / "tmp").mkdir(mode=0o1777)  # one for the tasks of a node
    # Folders as Enroot's 10-system.fstab has them, files as 20-config.fstab.
    shared = (
        "/proc",
        "/sys",
        "/dev",
        "/etc/hosts",
        "/etc/resolv.conf",
        "/etc/hostname",
    )
    system = [(name, name, "") for name in shared]
    for source, target, flags in (*system, (f"{folder}/tmp", "/tmp", ""), *mounts):
        place = root / target.lstrip("/")
        if target != "/tmp" and not target.startswith("/tmp/"):
            made(place, Path(source))
        else:
            made(folder / target.lstrip("/"), Path(source))
        plan += ["M", source, target, flags]
    for name in NEVER:
        plan += ["U", name]
    for name in LOCALE:
        plan += ["U", name] if name not in kept else []
    for name, value in ({"PATH": DEFAULT_PATH} | own | variables).items():
        if name not in kept or name in variables or name in NEVER:
            plan += ["E", f"{name}={value}"] if value or not is_engine else ["U", name]
    if "PYTORCH_VERSION" in own and not is_engine:
        plan += ["R", ""]
    plan += ["W", workdir or image_folder(root)]
    (folder / "plan").write_text("".join(f"{each}\0" for each in plan))


def made(place: Path, source: Path) -> None:
    """Make the target of a mount, where it is not there."""
    if place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        place.mkdir()
    else:
        place.touch()


if __name__ == "__main__":
    where, *words = sys.argv[1:]
    try:
        main(Path(where), dict(zip(words[::2], words[1::2], strict=True)))
    except RefusedError as refused:
        Path(where, "error").write_text(str(refused))
        sys.exit(1)
    except Exception as err:  # noqa: BLE001 # must be seen where the step ends
        Path(where, "error").write_text(repr(err))
        sys.exit(1)

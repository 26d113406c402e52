"""The record of a container runtime."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from envcfg.common.bind import Bind

# Suffixes: images as squashfs files, and archives of images.
SQUASHED = (".sqfs", ".sqsh", ".squashfs")
ARCHIVES = (".tar", ".tar.gz", ".tgz")


class Trouble(NamedTuple):
    """The problem of an image for a runtime, and the way to make a suitable image."""

    problem: str
    fix: str


def _nothing(text: str) -> None:  # noqa: ARG001 # as records want it
    return None


def always(image: str) -> bool:  # noqa: ARG001
    """Return True."""
    return True


def never(image: str) -> bool:  # noqa: ARG001
    """Return False."""
    return False


class Runtime(NamedTuple):
    """The properties of a container runtime."""

    name: str  # its name, and that of its module, with underscores for dashes
    # The evidence that it is installed: its program on PATH, or the option by which
    # srun enters the container.
    sign: str
    example: str  # an image in an accepted form
    # Whether an image must be fetched instead of opened as a path.
    is_reference: Callable[[str], bool]
    # The text of a bind for this runtime; ValueError: impossible.
    format_bind: Callable[[Bind], str]
    # Converts the usual spelling of an image to the runtime's.
    spell: Callable[[str], str] = str
    # Whether the job would fetch the image at its start.
    is_pulled: Callable[[str], bool] = never
    # Another runtime of the same kind, if any. Runtimes of one kind accept the same
    # images and arguments, and share a module, so that the job can try one after
    # another; conditions use the name of the kind.
    same_kind: str = ""
    # The runtime with the module that enters its containers, in
    # `job/script/modules/runtimes`; otherwise its own.
    same_module: str = ""
    # Prefixes of words that belong in a file, not in the launch line.
    filed: tuple[str, ...] = ()
    # By scheduler, the option of a job that mounts the image once per node.
    directives: Mapping[str, str] = {}
    # The right spelling of a text that only looks like a reference; or None.
    misspelt: Callable[[str], str | None] = _nothing
    # The problem of an image, judged by its name; or None.
    refuse: Callable[[str], Trouble | None] = _nothing
    # The problem of an argument; or None.
    refuse_argument: Callable[[str], Trouble | None] = _nothing
    # A possible problem of an image of this form, for a warning; or None.
    doubt: Callable[[str], Trouble | None] = _nothing
    # The effect of fetching an image, for a warning.
    pulled: str = "every rank of the job would pull and unpack this image"
    pull: str = ""  # the command to run before the job instead
    # Names in an image folder, of which at least one must exist.
    unpacked: tuple[str, ...] = ("bin", "usr")
    # Suffixes of files that describe an image but are not images.
    described: tuple[str, ...] = ()
    # Whether each task opens the image by its path, so that a copy works.
    opens_file: bool = False
    # Whether a bind can have a target that the image does not have.
    makes_targets: bool = True

    @property
    # Conditions need one name for interchangeable runtimes.
    def kind(self) -> str:
        """The name of the runtime in conditions."""
        return self.same_kind or self.name

    @property
    def template(self) -> str:
        """The module of ``job/script/modules/runtimes`` that enters a container."""
        return self.same_module or self.kind

    @property
    def option(self) -> str:
        """The option of srun that enters the container; empty if a program does."""
        # An option of srun begins with a dash, which no program does.
        return self.sign if self.sign.startswith("-") else ""

    @property
    def program(self) -> str:
        """Its name on PATH; empty if an option of srun enters the container."""
        return "" if self.option else self.sign

    @property
    def starters(self) -> tuple[str, ...]:
        """Starters that can start tasks in its containers; empty: all."""
        # Only srun has plug-ins for containers.
        return ("srun",) if self.option else ()

    def goes_with(self, starter: str) -> bool:
        """Return whether *starter* can start tasks in its containers."""
        return not self.starters or starter in self.starters

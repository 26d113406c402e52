"""What is particular to a container runtime."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from envcfg.bind import Bind

# By how their names end: images as squashfs files, and archives of images.
SQUASHED = (".sqfs", ".sqsh", ".squashfs")
ARCHIVES = (".tar", ".tar.gz", ".tgz")


class Trouble(NamedTuple):
    """What is wrong with an image for a runtime, and how to make one that is right."""

    what: str
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
    """What is particular to a container runtime.

    Attributes:
        name: also that of its module, in which a dash is an underscore.
        sign: by what it shows that it is there: its program on PATH, or the option by
            which srun enters the container.
        example: an image of a form that it takes.
        same_kind: the runtime whose kind it is; else it is one of its own. Those of one
            kind take the same images and arguments, and share a module, so that the job
            can try one after another; conditions call them by it.
        same_module: the runtime whose module of ``bash/modules/runtimes`` enters its
            containers; else it has its own.
        filed: how words for it begin that go into a file, not into the launch line.
        directives: by scheduler, the option of a job that mounts the image once per node.
        is_reference: whether an image's text is to be fetched, not opened as a path.
        spell: how the runtime writes an image that people write otherwise.
        is_pulled: whether a job that begins would fetch what the text names.
        format_bind: the text of a bind as this runtime takes it; ValueError: it cannot.
        misspelt: how a text that looks like a reference, and is none, is written; or None.
        refuse_argument: what is wrong with a word for it; or None.
        refuse: what an image is by its name that this runtime cannot take; or None.
        doubt: what may go wrong with an image of its form, for a warning; or None.
        pulled: what happens to an image that is fetched, for a warning.
        pull: what to do before the job instead.
        unpacked: names of which an image that is a folder has one at least.
        described: how names end of files that describe an image, and are none.
        opens_file: whether each task opens the image by its path, a copy as well.
    """

    name: str
    sign: str
    example: str
    is_reference: Callable[[str], bool]
    format_bind: Callable[[Bind], str]
    spell: Callable[[str], str] = str
    is_pulled: Callable[[str], bool] = never
    same_kind: str = ""
    same_module: str = ""
    filed: tuple[str, ...] = ()
    directives: Mapping[str, str] = {}
    misspelt: Callable[[str], str | None] = _nothing
    refuse: Callable[[str], Trouble | None] = _nothing
    refuse_argument: Callable[[str], Trouble | None] = _nothing
    doubt: Callable[[str], Trouble | None] = _nothing
    pulled: str = "every rank of the job would pull and unpack this image"
    pull: str = ""
    unpacked: tuple[str, ...] = ("bin", "usr")
    described: tuple[str, ...] = ()
    opens_file: bool = False

    @property
    def kind(self) -> str:
        """What conditions call it."""
        return self.same_kind or self.name

    @property
    def template(self) -> str:
        """The module of ``bash/modules/runtimes`` that enters a container."""
        return self.same_module or self.kind

    @property
    def option(self) -> str:
        """The option of srun that enters the container; empty where a program does."""
        return self.sign if self.sign.startswith("-") else ""

    @property
    def program(self) -> str:
        """Its name on PATH; empty where an option of srun enters the container."""
        return "" if self.option else self.sign

    @property
    def starters(self) -> tuple[str, ...]:
        """Who can start tasks in its containers; empty: all."""
        return ("srun",) if self.option else ()

    def goes_with(self, starter: str) -> bool:
        """Tell whether *starter* can start tasks in its containers."""
        return not self.starters or starter in self.starters

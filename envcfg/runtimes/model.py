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


def _fine(text: str) -> Trouble | None:  # noqa: ARG001 # as records want it
    return None


def _right(image: str) -> str | None:  # noqa: ARG001
    return None


class Runtime(NamedTuple):
    """What is particular to a container runtime.

    Attributes:
        name: also that of its module, in which a dash is an underscore.
        program: its name on PATH; empty where an option of srun enters the container.
        option: that option, by which it is known that the runtime is there.
        filed: how words for it begin that go into a file, not into the launch line.
        starters: who can start tasks in its containers; empty: all.
        directives: by scheduler, the option of a job that mounts the image once per node.
        template: of ``bash/modules/runtimes``, which enters a container.
        kind: those of one kind take the same images and arguments, and share a module, so
            that the job can try one after another; conditions call them by it.
        is_reference: whether an image's text is to be fetched, not opened as a path.
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
    """

    name: str
    program: str
    template: str
    kind: str
    is_reference: Callable[[str], bool]
    is_pulled: Callable[[str], bool]
    format_bind: Callable[[Bind], str]
    option: str = ""
    filed: tuple[str, ...] = ()
    starters: tuple[str, ...] = ()
    directives: Mapping[str, str] = {}
    misspelt: Callable[[str], str | None] = _right
    refuse: Callable[[str], Trouble | None] = _fine
    refuse_argument: Callable[[str], Trouble | None] = _fine
    doubt: Callable[[str], Trouble | None] = _fine
    pulled: str = "every rank of the job would pull and unpack this image"
    pull: str = ""
    unpacked: tuple[str, ...] = ("bin", "usr")
    described: tuple[str, ...] = ()

    def goes_with(self, starter: str) -> bool:
        """Tell whether *starter* can start tasks in its containers."""
        return not self.starters or starter in self.starters

    @property
    def sign(self) -> str:
        """By what it shows that it is there: a program, or an option of srun."""
        return self.program or self.option

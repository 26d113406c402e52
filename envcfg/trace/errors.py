"""What goes wrong in a trace, and how large it may be."""

from envcfg.errors import EnvcfgError

EXIT_CANNOT = 4
# Bytes of one trace; a dump of 2000 operations with stacks is some 4 MB.
LARGEST = 1 << 26


class TraceError(EnvcfgError):
    """A text or dump that is not what it should be, or too large to be read."""

    exit_code = EXIT_CANNOT


def check_size(size: int) -> None:
    """Refuse a trace of *size* bytes if that is too much to be held in memory.

    Raises:
        TraceError: it is.
    """
    if size > LARGEST:
        msg = f"larger than {LARGEST >> 20} MiB"
        raise TraceError(msg, hint="give a part of it, or the file of one rank")

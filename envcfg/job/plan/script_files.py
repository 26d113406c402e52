"""The two files of a script: the job's own part, and the machinery that many jobs share."""

from typing import NamedTuple

from envcfg.common.provenance import sha256_of

FOLDER = ".envcfg"  # the folder of machinery, next to the script
_DIGITS = 32  # digits of the SHA-256 in a file's name: 128 bits


class MachineryPlace(NamedTuple):
    """The place of the machinery, the second file of a script."""

    folder: str  # absolute path of the folder `.envcfg`
    again: str  # the command that writes script and file again, as a user types it


class Files(NamedTuple):
    """The texts of a script."""

    script: str  # the text that is run or submitted
    # The text of the second file; empty if the script is a single text.
    machinery: str = ""

    @property
    def name(self) -> str:
        """The name of the second file: the hash of its text."""
        return f"{sha256_of(self.machinery.encode())[:_DIGITS]}.bash"

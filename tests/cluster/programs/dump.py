"""Write what this rank sees, byte for byte: its arguments and its environment.

Usage: dump.py FOLDER [ARGUMENT...]; writes FOLDER/RANK.args and FOLDER/RANK.env, each
entry ended by a NUL.
"""

import os
import sys
from pathlib import Path

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
rank = os.environ.get("RANK", "none")
arguments = [os.fsencode(word) for word in sys.argv[2:]]
(folder / f"{rank}.args").write_bytes(b"".join(word + b"\0" for word in arguments))
entries = [name + b"=" + value for name, value in os.environb.items()]
(folder / f"{rank}.env").write_bytes(b"".join(entry + b"\0" for entry in entries))

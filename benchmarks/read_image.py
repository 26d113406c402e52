"""Read some files of an image as `inspect` does; the peer reads as much by unsquashfs.

usage: python -m benchmarks.read_image IMAGE FOLDERS
"""

from __future__ import annotations

import os
import sys

from envcfg.image.open_image import open_image

HEAD = 4096


def main() -> None:
    """Print how many bytes were read of IMAGE, whose packages stand in FOLDERS."""
    image, folders = sys.argv[1], sys.argv[2]
    total = 0
    with open_image(image) as (tree, metadata):
        for path in tree.glob(f"{folders}/METADATA"):
            total += len(tree.read(path) or b"")
        for path in tree.glob(
            "/usr/lib/python3*/site-packages/torch/lib/lib*"
        ):  # the ends and middle of ELF files
            if (file := tree.open(path)) is None:
                continue
            with file:
                size = file.seek(0, os.SEEK_END)
                for place in (0, size // 2, size - HEAD):
                    file.seek(place)
                    total += len(file.read(HEAD))
    print(metadata.form, total)


if __name__ == "__main__":
    main()

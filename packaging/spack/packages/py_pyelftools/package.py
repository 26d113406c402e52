"""The reader of ELF files, in a version that envcfg takes; Spack's own ends at 0.29."""

from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PyPyelftools(PythonPackage):
    """Library for ELF files and DWARF debugging information."""

    homepage = "https://github.com/eliben/pyelftools"
    pypi = "pyelftools/pyelftools-0.33.tar.gz"

    license("Unlicense")  # put into the public domain

    version(
        "0.33",
        sha256="660d82dcbeb8e83d1702bd97f223f761625da06111c0cc988eac6b8ab0c1b61f",
    )

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-setuptools@46.4:", type="build")

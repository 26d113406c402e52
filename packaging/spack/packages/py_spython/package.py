"""What asks Singularity, in a version that envcfg takes; Spack's own ends at 0.3.1."""

from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PySpython(PythonPackage):
    """Python API for Singularity and Apptainer."""

    homepage = "https://github.com/singularityhub/singularity-cli"
    pypi = "spython/spython-0.3.14.tar.gz"

    license("MPL-2.0")

    version(
        "0.3.14",
        sha256="8ad53ef034395cfa2d8a710cc1c3638e4475e5bbc6a2842d317db8013c2e4188",
    )

    depends_on("py-setuptools", type="build")

"""What makes completion, in a version that envcfg takes; Spack's own ends at 1.3.9."""

from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PyShtab(PythonPackage):
    """Completion of shells for programs that use argparse."""

    homepage = "https://github.com/tqdm/shtab"
    pypi = "shtab/shtab-1.13.0.tar.gz"

    license("MPL-2.0")

    version(
        "1.13.0",
        sha256="0a5be9d7ab2b4549e9a38252abcd5ecf5ec6813ecd80c6b06fa851bff55a5085",
    )

    depends_on("python@3.9:", type=("build", "run"))
    depends_on("py-setuptools@77:", type="build")
    depends_on("py-setuptools-scm@3.4:", type="build")

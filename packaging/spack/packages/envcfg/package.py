"""envcfg for Spack; what it requires is what pyproject.toml says."""

from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class Envcfg(PythonPackage):
    """From a container and a command to a correct multi-node job, on every system that
    has a profile."""

    pypi = "envcfg/envcfg-0.1.0.tar.gz"

    license("Apache-2.0")

    # scripts/release-check prints the sum of what is released.
    version("0.1.0")

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-hatchling@1.24:", type="build")
    depends_on("py-pyyaml@6.0:", type=("build", "run"))
    depends_on("py-rich@13.0:", type=("build", "run"))
    depends_on("py-jinja2@3.1:", type=("build", "run"))
    depends_on("py-markupsafe@2.1:", type=("build", "run"))
    depends_on("py-pyelftools@0.32:", type=("build", "run"))
    depends_on("py-spython@0.3.14:0.3", type=("build", "run"))
    depends_on("py-backports-zstd@1.0:", type=("build", "run"), when="^python@:3.13")
    depends_on("py-tomli@2.0:", type=("build", "run"), when="^python@:3.10")
    depends_on("py-shtab@1.13:1", type=("build", "run"))
    depends_on("py-tree-sitter@0.23:", type=("build", "run"))
    depends_on("py-tree-sitter-bash@0.23:", type=("build", "run"))

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def wrap_once(self):
        """Make the script of a job that needs nothing."""
        envcfg = Executable(self.prefix.bin.envcfg)
        envcfg("wrap", "--profile", "workstation", "--container", "none", "--", "true")

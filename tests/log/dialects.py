"""Who writes a log: libraries and plugins by version. Plain data."""

from __future__ import annotations

from dataclasses import dataclass

Version = tuple[int, ...]
# What is printed without NCCL_DEBUG_SUBSYS, by age.
OLDEST = frozenset({"INIT"})
OLD = frozenset({"INIT", "ENV"})
RECENT = frozenset({"INIT", "ENV", "BOOTSTRAP"})


@dataclass(frozen=True)
class Plugin:
    """A build of the libfabric plugin.

    Attributes:
        package: ``aws-ofi-nccl`` or ``aws-ofi-rccl``.
        shown: version as it prints it.
        version: the same to compare.
        api: newest interface that it offers, such as 8 for ``ncclNetPlugin_v8``.
        libfabric: version of the libfabric it finds.
    """

    package: str
    shown: str
    version: Version
    api: int
    libfabric: str = ""

    @property
    def network(self) -> str:
        """Return its name in ``Using network``; 1.13 shortened it."""
        old = self.package == "aws-ofi-rccl" or self.version < (1, 13)
        return "AWS Libfabric" if old else "Libfabric"


@dataclass(frozen=True)
class Dialect:
    """A version of NCCL or RCCL with the plugin of its time.

    Attributes:
        version: of NCCL, or of the NCCL that RCCL is made from.
        shown: version as it prints it.
        plugin: the plugin of its time.
        api: newest plugin interface that the library knows.
        driver: ``cudaDriverVersion``; for RCCL that of ROCr.
        hip: ``HIP version`` of the banner.
        rocm: ``ROCm version`` of the banner; empty without banner.
        init: function that PyTorch calls to make a communicator.
    """

    version: Version
    shown: str
    plugin: Plugin
    api: int
    driver: str = ""
    hip: str = ""
    rocm: str = ""
    rccl: bool = False
    init: str = "ncclCommInitRank"

    @property
    def net_library(self) -> str:
        """Return the file that is looked for; RCCL 2.27 looks for that of NCCL."""
        old = self.rccl and self.version < (2, 27)
        return "librccl-net.so" if old else "libnccl-net.so"

    @property
    def source(self) -> str:
        """Return what stands before the path of a source file."""
        if not self.rccl:
            return ""
        if self.version >= (2, 26):
            folder = "longer_pathname_so_that_rpms_can_support_packaging_the_debug_info"
            return f"/{folder}_for_all_os_profiles/src/out/build/rccl/hipify/src/"
        folder = "long_pathname_so_that_rpms_can_package_the_debug_info"
        return f"/{folder}/src/rccl/build/hipify/src/"

    @property
    def subsystems(self) -> frozenset[str]:
        """Return what is printed without ``NCCL_DEBUG_SUBSYS``."""
        if self.version < (2, 16, 5):
            return OLDEST
        return OLD if self.version < (2, 23) else RECENT


def _ofi(shown: str, api: int, libfabric: str = "") -> Plugin:
    number = shown.removesuffix("aws").removesuffix("-")
    version = tuple(int(part) for part in number.split("."))
    return Plugin("aws-ofi-nccl", shown, version, api, libfabric)


OFI_RCCL = Plugin("aws-ofi-rccl", "1.4.0", (1, 4, 0), 5)
CONFIG = "ncclCommInitRankConfig"

DIALECTS: dict[str, Dialect] = {
    "nccl-2.4": Dialect((2, 4, 8), "2.4.8+cuda10.1", _ofi("1.0.1", 2), 2),
    "nccl-2.7": Dialect((2, 7, 8), "2.7.8+cuda11.0", _ofi("1.1.4", 3), 3),
    "nccl-2.10": Dialect((2, 10, 3), "2.10.3+cuda11.3", _ofi("1.3.0aws", 4), 4),
    "nccl-2.12": Dialect((2, 12, 12), "2.12.12+cuda11.6", _ofi("1.4.0aws", 5), 5),
    "nccl-2.16": Dialect(
        (2, 16, 2), "2.16.2+cuda11.8", _ofi("1.5.0aws", 5), 6, "11080"
    ),
    "nccl-2.18": Dialect((2, 18, 3), "2.18.3+cuda12.2", _ofi("1.6.0", 6), 6, "12020"),
    "nccl-2.19": Dialect(
        (2, 19, 3), "2.19.3+cuda12.3", _ofi("1.7.4-aws", 6, "1.18"), 7, "12030"
    ),
    "nccl-2.21": Dialect(
        (2, 21, 5), "2.21.5+cuda12.4", _ofi("1.9.1-aws", 8, "1.20"), 8, "12040"
    ),
    "nccl-2.23": Dialect(
        (2, 23, 4), "2.23.4+cuda12.4", _ofi("1.12.1-aws", 8, "1.22"), 8, "12040"
    ),
    "nccl-2.24": Dialect(
        (2, 24, 3), "2.24.3+cuda12.6", _ofi("1.13.2-aws", 9, "1.22"), 9, "12060"
    ),
    "nccl-2.27": Dialect(
        (2, 27, 3),
        "2.27.3+cuda12.9",
        _ofi("1.16.2", 10, "2.1"),
        10,
        "12090",
        init=CONFIG,
    ),
    "nccl-2.28": Dialect(
        (2, 28, 7),
        "2.28.7+cuda12.9",
        _ofi("1.17.1", 10, "2.3"),
        11,
        "13000",
        init=CONFIG,
    ),
    "nccl-2.30": Dialect(
        (2, 30, 7),
        "2.30.7+cuda13.0",
        _ofi("1.19.0", 11, "2.4"),
        12,
        "13000",
        init=CONFIG,
    ),
    "rccl-2.16": Dialect(
        (2, 16, 5), "2.16.5+hip5.6 HEAD:3f1c0a7+", OFI_RCCL, 6, "1.1", rccl=True
    ),
    "rccl-2.20": Dialect(
        (2, 20, 5), "2.20.5+hip6.2 HEAD:90c4e1b+", OFI_RCCL, 8, "1.14", rccl=True
    ),
    "rccl-2.21": Dialect(
        (2, 21, 5),
        "2.21.5-HEAD:4b1e77c",
        OFI_RCCL,
        8,
        "1.14",
        "6.3.42133-1b9c17779",
        "6.3.1.0-48-a1a1b2c",
        rccl=True,
        init="ncclCommInitRank",
    ),
    "rccl-2.22": Dialect(
        (2, 22, 3),
        "2.22.3-HEAD:8dd1f62",
        OFI_RCCL,
        8,
        "1.15",
        "6.4.43482-0f2d60242",
        "6.4.0.0-47-7e4a5d1",
        rccl=True,
        init="ncclCommInitRank_impl",
    ),
    "rccl-2.26": Dialect(
        (2, 26, 6),
        "2.26.6-HEAD:61c0f9b",
        _ofi("1.16.2", 10, "2.1"),
        10,
        "1.18",
        "7.0.51830-7c9236b16",
        "7.0.1.0-42-2f8e4a6",
        rccl=True,
        init="ncclCommInitRankConfig_impl",
    ),
    "rccl-2.27": Dialect(
        (2, 27, 7),
        "2.27.7-HEAD:b5e90d4",
        _ofi("1.18.0", 10, "2.3"),
        10,
        "1.18",
        "7.2.26043-4c1d08be72",
        "7.2.1.0-81-5c3d2e1",
        rccl=True,
        init="ncclCommInitRankConfig_impl",
    ),
}

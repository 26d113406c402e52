"""A libc or C++ library that is too old: its own remedy, and not the one of libfabric."""

from __future__ import annotations

import pytest
from checking import check
from jobs import Job, text

GOOD = text(Job())
NEEDED = "(required by /opt/lib/libfabric.so.1)"
LIBC = "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found"
LIBSTDCXX = "/lib64/libstdc++.so.6: version `GLIBCXX_3.4.32' not found"
TRACE = 'Traceback (most recent call last):\n  File "/u/t.py", line 3, in <module>\n    import x\n'
OLD_LIBC = [
    f"python: {LIBC} {NEEDED}\n",
    f"3: python3: {LIBC} {NEEDED}\n",
    f"/opt/train: {LIBC} (required by /opt/train)\n",
    "libc.so.6: GLIBC_2.38 not found\n",
    "./a.out: /lib64/libm.so.6: version `GLIBC_2.29' not found (required by ./a.out)\n",
    f"{TRACE}ImportError: {LIBC} (required by /opt/venv/x.so)\n",
    f"{TRACE}OSError: {LIBC} (required by /opt/venv/x.so)\n",
]
OLD_LIBSTDCXX = [
    f"python: {LIBSTDCXX} (required by /opt/lib/librccl.so.1)\n",
    f"/opt/train: {LIBSTDCXX} (required by /opt/train)\n",
    "x: /lib64/libstdc++.so.6: version `CXXABI_1.3.15' not found (required by x)\n",
    f"{TRACE}ImportError: {LIBSTDCXX} (required by /opt/venv/x.so)\n",
]


@pytest.mark.parametrize("log", OLD_LIBC)
def test_an_old_libc_needs_another_image(log: str) -> None:
    report = check(log)
    assert report.verdict in {"broken", "degraded"}
    (finding,) = report.findings
    assert "libc" in finding.message + (finding.why or "")
    assert "ldd --version" in (finding.fix or "")
    assert "libfabric, libcxi" not in (finding.fix or "")
    assert report.next.action == "fix first"


@pytest.mark.parametrize("log", OLD_LIBSTDCXX)
def test_an_old_cpp_library_needs_a_newer_one_in_front(log: str) -> None:
    report = check(log)
    assert report.verdict in {"broken", "degraded"}
    (finding,) = report.findings
    assert "libstdc++" in (finding.fix or "")
    assert report.next.action == "fix first"


def test_versions_of_libfabric_keep_their_remedy() -> None:
    line = "python3: /usr/lib64/libfabric.so.1: version `FABRIC_1.8' not found (required by /opt/y/librccl-net.so)\n"
    (finding,) = check(line).findings
    assert finding.rule == "libfabric-version"


@pytest.mark.parametrize(
    "line",
    [
        "nvidia-smi: /lib64/libc.so.6: version `GLIBC_2.34' not found (required by nvidia-smi)\n",
        "checking whether libc.so.6 has GLIBC_2.38: not found, using the fallback\n",
    ],
)
def test_a_tool_that_does_not_start_ends_no_job(line: str) -> None:
    assert check(line + GOOD).verdict == "ok"

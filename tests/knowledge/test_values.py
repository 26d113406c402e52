"""A name and a value: what is wrong with it, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcfg.knowledge.variables import check_variable, load_variables

GOLDEN = Path(__file__).parent / "golden/wrong.txt"
NAMES = list(load_variables())

# Name, value, severity, part of the message or of the hint; below, those that are right.
WRONG = [
    # names
    ("MIOPEN_USER_DB", "/tmp/x", "error", "write MIOPEN_USER_DB_PATH"),
    ("MIOPEN_USER_DB", None, "error", "no program reads"),
    ("FI_CXI_RDV_PROTO", "alt_read", "error", "write FI_CXI_RDZV_PROTO"),
    ("NCCL_USE_CMAKE", "1", "error", "leave it out"),
    ("NCCL_DEBG", "INFO", "warning", "did you mean NCCL_DEBUG?"),
    ("NCCL_DEBG", None, "warning", "did you mean NCCL_DEBUG?"),
    ("NCCL_SOCKET_IFNAMES", "hsn", "warning", "did you mean NCCL_SOCKET_IFNAME?"),
    ("NCCL_SOMETHING_ELSE_ENTIRELY", "1", "warning", "no known program reads"),
    ("RCCL_MSCCL_ENABLED", "0", "warning", "did you mean RCCL_MSCCL_ENABLE?"),
    ("FI_CXI_RDVZ_PROTO", "alt_read", "warning", "did you mean FI_CXI_RDZV_PROTO?"),
    ("MIOPEN_USER_DB_PATHS", "/tmp", "warning", "did you mean MIOPEN_USER_DB_PATH?"),
    ("MIOPEN_USER_DBS", "/tmp", "warning", "did you mean MIOPEN_USER_DB_PATH?"),
    ("MIOOPEN_LOG_LEVEL", "3", "warning", "did you mean MIOPEN_LOG_LEVEL?"),
    ("OFI_NCCL_PROTOCOLS", "RDMA", "warning", "did you mean OFI_NCCL_PROTOCOL?"),
    ("TORCH_NCCL_BLOCKING_WAITS", "1", "warning", "TORCH_NCCL_BLOCKING_WAIT"),
    ("GLOO_SOCKET_IFNAMES", "hsn0", "warning", "did you mean GLOO_SOCKET_IFNAME?"),
    ("SLURM_JOB_NODELISTS", "n", "warning", "did you mean SLURM_JOB_NODELIST?"),
    ("NCCL_ASYNC_ERROR_HANDLING", "1", "warning", "write TORCH_NCCL_ASYNC_ERROR_H"),
    ("NCCL_IB_GDR_LEVEL", "PHB", "warning", "write NCCL_NET_GDR_LEVEL"),
    ("NCCL_MIN_NRINGS", "4", "warning", "write NCCL_MIN_NCHANNELS"),
    ("TRANSFORMERS_CACHE", "/x", "warning", "write HF_HOME"),
    ("NCCL_TREE_THRESHOLD", "0", "warning", "since 2.5"),
    ("NCCL_SINGLE_RING_THRESHOLD", "0", "warning", "leave it out"),
    ("OFI_NCCL_RDMA_MIN_POSTED_BOUNCE_BUFFERS", "1", "warning", "by now"),
    ("HOROVOD_ROCM_PATH", "/opt/rocm", "error", "write HOROVOD_ROCM_HOME"),
    ("RCCL_INCLUDE_DIRS", "/opt/rocm/include", "error", "leave it out"),
    ("HOROVOD_WITH_GLOO", "1", "warning", "see HOROVOD_WITHOUT_GLOO"),
    ("DS_BUILD_SPARSE_ATTN", "0", "warning", "by now"),
    ("DS_BUILD_FUSED_ADMA", "1", "warning", "did you mean DS_BUILD_FUSED_ADAM?"),
    # words
    ("HOROVOD_GPU_OPERATIONS", "nccl", "error", "write NCCL"),
    ("NCCL_NET_GDR_LEVEL", "3", "warning", "write PHB"),
    ("NCCL_NET_GDR_LEVEL", "0", "warning", "write LOC"),
    ("NCCL_NET_GDR_LEVEL", "5", "warning", "write SYS"),
    ("NCCL_NET_GDR_LEVEL", "phb", "error", "upper and lower case count"),
    ("NCCL_NET_GDR_LEVEL", "PBH", "error", "not one of LOC, PIX"),
    ("NCCL_P2P_LEVEL", "1", "warning", "write PIX"),
    ("NCCL_P2P_LEVEL", "nvl", "error", "write NVL"),
    ("NCCL_CTA_POLICY", "2", "warning", "write ZERO"),
    ("NCCL_CTA_POLICY", "ZERO|FAST", "error", "'FAST' is not one of"),
    ("NCCL_DEBUG", "1", "error", "not one of VERSION, WARN"),
    ("NCCL_DEBUG", "INOF", "error", "did you mean INFO?"),
    ("NCCL_DEBUG_SUBSYS", "INIT,ENVS", "error", "did you mean ENV"),
    ("NCCL_DEBUG_SUBSYS", "INIT, ENV", "error", "write INIT,ENV"),
    ("NCCL_SOCKET_FAMILY", "af_inet", "error", "write AF_INET"),
    ("NCCL_SOCKET_FAMILY", "4", "error", "not one of AF_INET"),
    ("NCCL_NTHREADS", "500", "error", "not one of 64, 128, 256, 512"),
    ("FI_CXI_RX_MATCH_MODE", "Hybrid", "error", "write hybrid"),
    ("FI_CXI_RX_MATCH_MODE", "1", "error", "not one of hardware"),
    ("FI_CXI_RDZV_PROTO", "alt-read", "warning", "write alt_read"),
    ("FI_CXI_RDZV_PROTO", "ALT_READ", "error", "write alt_read"),
    ("FI_CXI_RDZV_PROTO", "1", "error", "not one of default, alt_read"),
    ("FI_MR_CACHE_MONITOR", "mmunotify", "error", "not one of userfaultfd"),
    ("FI_MR_CACHE_MONITOR", "kdreg", "error", "did you mean kdreg2?"),
    ("MIOPEN_FIND_MODE", "4", "error", "not one of NORMAL"),
    ("OFI_NCCL_PROTOCOL", "SEND", "error", "did you mean SENDRECV?"),
    ("OFI_NCCL_PROTOCOL", "TCP", "error", "does not start"),
    # switches
    ("DS_BUILD_OPS", "yes", "error", "not 1 or 0"),
    ("HOROVOD_WITH_PYTORCH", "true", "error", "not 1 or 0"),
    ("NCCL_DMABUF_ENABLE", "true", "error", "is not 1 or 0"),
    ("NCCL_IB_DISABLE", "yes", "error", "takes the digits"),
    ("NCCL_PXN_DISABLE", "2", "error", "is not 1 or 0"),
    ("FI_CXI_DISABLE_HOST_REGISTER", "2", "error", "is not 1 or 0"),
    ("FI_CXI_DISABLE_HOST_REGISTER", "enabled", "error", "default of a switch"),
    ("TORCH_NCCL_BLOCKING_WAIT", "2", "error", "PyTorch ends with an error"),
    ("TORCH_NCCL_BLOCKING_WAIT", "on", "error", "is not 1 or 0"),
    ("MIOPEN_DISABLE_CACHE", "2", "error", "is not 1 or 0"),
    ("HSA_FORCE_FINE_GRAIN_PCIE", "true", "error", "is not 1 or 0"),
    ("APPTAINER_NV", "yes", "error", "is not 1 or 0"),
    # numbers
    ("NCCL_CROSS_NIC", "3", "error", "from 0 to 2"),
    ("NCCL_CROSS_NIC", "on", "error", "not a whole number"),
    ("NCCL_CROSS_NIC", "-1", "error", "from 0 to 2"),
    ("NCCL_IB_RETRY_CNT", "10", "error", "from 0 to 7"),
    ("NCCL_IB_TIMEOUT", "32", "error", "from 0 to 31"),
    ("NCCL_MIN_NCHANNELS", "0", "error", "at least 1"),
    ("NCCL_MIN_NCHANNELS", "4.5", "error", "not a whole number"),
    ("NCCL_BUFFSIZE", "8M", "error", "write 8388608"),
    ("NCCL_BUFFSIZE", "8 MiB", "error", "write 8388608"),
    ("NCCL_BUFFSIZE", "2G", "error", "write 2147483648"),
    ("NCCL_BUFFSIZE", "1tib", "error", "write 1099511627776"),
    ("NCCL_BUFFSIZE", "large", "error", "not a number of bytes"),
    ("NCCL_BUFFSIZE", "-8", "error", "fewer than none"),
    ("FI_CXI_REQ_BUF_SIZE", "16MB", "error", "write 16777216"),
    ("FI_CXI_DEFAULT_CQ_SIZE", "128k", "error", "not a whole number"),
    ("FI_CXI_DEFAULT_TX_SIZE", "8", "error", "at least 16"),
    ("FI_CXI_CQ_FILL_PERCENT", "101", "error", "from 1 to 100"),
    ("MASTER_PORT", "70000", "error", "from 1 to 65535"),
    ("MASTER_PORT", "9" * 5000, "error", "from 1 to 65535"),
    ("MASTER_PORT", "tcp", "error", "not a whole number"),
    ("OMP_NUM_THREADS", "7,all", "error", "not a whole number"),
    ("NCCL_RAS_TIMEOUT_FACTOR", "two", "error", "is not a number"),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "4", "error", "from 0 to 3"),
    # lists
    ("NCCL_SOCKET_IFNAME", "hsn0, hsn1", "error", "write hsn0,hsn1"),
    ("NCCL_SOCKET_IFNAME", "hsn0 hsn1", "error", "write hsn0,hsn1"),
    ("NCCL_SOCKET_IFNAME", "=hsn0,=hsn1", "error", "whole list"),
    ("NCCL_SOCKET_IFNAME", "^docker,^lo", "error", "in front of the list"),
    ("NCCL_SOCKET_IFNAME", " hsn", "error", "begins or ends with a space"),
    ("NCCL_SOCKET_IFNAME", "'hsn'", "error", "quotes"),
    ("NCCL_SOCKET_IFNAME", "${IFNAME}, hsn1", "error", "write X,hsn1"),
    ("NCCL_IB_HCA", "mlx5_0:1, mlx5_1:1", "error", "write mlx5_0:1,mlx5_1:1"),
    ("GLOO_SOCKET_IFNAME", "=hsn0", "error", "names are exact"),
    ("GLOO_SOCKET_IFNAME", "hsn0, hsn1", "error", "write hsn0,hsn1"),
    ("FI_CXI_DEVICE_NAME", "cxi0 cxi1", "error", "write cxi0,cxi1"),
    ("CUDA_VISIBLE_DEVICES", "0, 1", "error", "commas alone"),
    ("ROCR_VISIBLE_DEVICES", "0,all", "error", "'all' is not a GPU"),
    ("HIP_VISIBLE_DEVICES", "0-3", "error", "is not a GPU"),
    # texts and paths
    ("NCCL_NET", "'AWS Libfabric'", "error", "quotes"),
    ("NCCL_DEBUG_FILE", "~/nccl.%h.%p", "warning", "write ${HOME}"),
    ("TRITON_CACHE_DIR", "~/x", "warning", "only shells do that"),
    ("TRITON_CACHE_DIR", "~/${X}", "warning", "only shells do that"),
]
RIGHT = [
    ("MY_VARIABLE", "anything, at all"),
    ("MY_VARIABLE", None),
    ("NCCLX", "1"),
    ("NCCL_OFI_SOMETHING", "1"),
    ("NCCL_FASTRAK_CTRL_DEV", "eth0"),
    ("FI_OPX_HFI_SELECT", "0"),
    ("SLURM_SOMETHING_OF_A_SITE", "1"),
    ("HSA_SOMETHING_NEW", "1"),
    ("SINGULARITY_OPTS", "--nv"),
    ("SINGULARITYENV_NCCL_DEBUG", "INFO"),
    ("NCCL_NET_GDR_LEVEL", "PHB"),
    ("NCCL_NET_GDR_LEVEL", "SYS"),
    ("NCCL_NET_GDR_LEVEL", None),
    ("NCCL_NET_GDR_LEVEL", ""),
    ("NCCL_NET_GDR_LEVEL", "${LEVEL}"),
    ("NCCL_P2P_LEVEL", "NVL"),
    ("NCCL_CTA_POLICY", "EFFICIENCY|ZERO"),
    ("NCCL_NET", "AWS Libfabric"),
    ("NCCL_NET", "OFI"),
    ("NCCL_NET", "'"),
    ("NCCL_NET_PLUGIN", "/opt/lib/librccl-net.so"),
    ("NCCL_DEBUG", "INFO"),
    ("NCCL_DEBUG", "info"),
    ("NCCL_DEBUG_SUBSYS", "INIT,ENV,NET"),
    ("NCCL_DEBUG_SUBSYS", "^COLL,P2P"),
    ("NCCL_DEBUG_TIMESTAMP_FORMAT", "[%F %T] "),
    ("NCCL_PROTO", "^LL128"),
    ("NCCL_ALGO", "allreduce:tree;broadcast:ring"),
    ("NCCL_SOCKET_IFNAME", "hsn"),
    ("NCCL_SOCKET_IFNAME", "hsn0,hsn1,hsn2,hsn3"),
    ("NCCL_SOCKET_IFNAME", "=hsn0,hsn1"),
    ("NCCL_SOCKET_IFNAME", "^=docker0,lo"),
    ("NCCL_SOCKET_IFNAME", "${IFNAME:-hsn}"),
    ("NCCL_IB_HCA", "=mlx5_0:1:0:0,mlx5_1:1:0:1"),
    ("NCCL_IB_HCA", "^mlx5_bond_0:1"),
    ("GLOO_SOCKET_IFNAME", "hsn0"),
    ("NCCL_CROSS_NIC", "1"),
    ("NCCL_MIN_NCHANNELS", "24"),
    ("NCCL_MIN_NCHANNELS", "9" * 5000),
    ("NCCL_IB_GID_INDEX", "-1"),
    ("NCCL_IB_RETRY_CNT", "7"),
    ("NCCL_SOCKET_MAGIC", "0xfF01"),
    ("NCCL_CUMEM_ENABLE", "-2"),
    ("NCCL_BUFFSIZE", "8388608"),
    ("NCCL_BUFFSIZE", "${SIZE}M"),
    ("NCCL_DMABUF_ENABLE", "0"),
    ("NCCL_RAS_TIMEOUT_FACTOR", "2.5"),
    ("FI_CXI_RX_MATCH_MODE", "hybrid"),
    ("FI_CXI_RDZV_PROTO", "alt_read"),
    ("FI_CXI_RDZV_THRESHOLD", "0"),
    ("FI_CXI_DEFAULT_CQ_SIZE", "131072"),
    ("FI_CXI_DEFAULT_TX_SIZE", "2048"),
    ("FI_CXI_DISABLE_HOST_REGISTER", "1"),
    ("FI_CXI_OPTIMIZED_MRS", "False"),
    ("FI_CXI_ATS", "off"),
    ("FI_MR_CACHE_MONITOR", "kdreg2"),
    ("FI_MR_CACHE_MONITOR", "uffd"),
    ("HDF5_USE_FILE_LOCKING", "0"),
    ("TORCH_DISTRIBUTED_DEBUG", "detail"),
    ("FI_MR_CACHE_MAX_COUNT", "0"),
    ("FI_MR_CACHE_MAX_SIZE", "-1"),
    ("FI_PROVIDER", "^tcp,sockets"),
    ("CXI_FORK_SAFE", "0"),
    ("OFI_NCCL_PROTOCOL", "rdma"),
    ("OFI_NCCL_DISABLE_DMABUF", "TRUE"),
    ("TORCH_NCCL_BLOCKING_WAIT", "Yes"),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3"),
    ("MIOPEN_DISABLE_CACHE", "disabled"),
    ("MIOPEN_USER_DB_PATH", "~/miopen"),
    ("MIOPEN_FIND_MODE", "fast"),
    ("MIOPEN_FIND_MODE", "2"),
    ("MIOPEN_CHECK_NUMERICS", "0x1F"),
    ("HSA_FORCE_FINE_GRAIN_PCIE", "1"),
    ("ROCR_VISIBLE_DEVICES", "0,GPU-deadbeefdeadbeef"),
    ("CUDA_VISIBLE_DEVICES", "MIG-4b2c1a9f-8d3e"),
    ("CUDA_VISIBLE_DEVICES", "-1"),
    ("CUDA_VISIBLE_DEVICES", ""),
    ("ROCR_VISIBLE_DEVICES", "${LOCAL_RANK}"),
    ("OMP_NUM_THREADS", "7"),
    ("OMP_NUM_THREADS", "4,2"),
    ("MASTER_PORT", "29500"),
    ("APPTAINER_NV", "True"),
    ("APPTAINER_BIND", "/a:/b:ro,/c"),
    ("HF_HOME", "~/hf"),
    ("ROCFFT_RTC_CACHE_PATH", "/dev/null"),
    ("TRITON_CACHE_DIR", "${TMPDIR:-/tmp}/triton"),
    ("MPICH_OFI_NIC_POLICY", "NUMA"),
    ("PMI_SHARED_SECRET", ""),
    ("PMIX_MCA_psec", "^munge"),
    ("HOROVOD_GPU_OPERATIONS", "NCCL"),
    ("HOROVOD_NCCL_LINK", "shared"),
    ("HOROVOD_BUILD_CUDA_CC_LIST", "80,90"),
    ("DS_BUILD_FUSED_ADAM", "1"),
    ("TORCH_CUDA_ARCH_LIST", "8.0;9.0"),
    ("PYTORCH_ROCM_ARCH", "gfx90a;gfx942"),
]


@pytest.mark.parametrize(("name", "value", "severity", "part"), WRONG)
def test_what_is_wrong_is_said(
    name: str, value: str | None, severity: str, part: str
) -> None:
    problems = check_variable(name, value)
    assert problems
    assert problems[0].severity == severity
    assert part in f"{problems[0].message}\n{problems[0].fix}"


def test_what_is_said_is_as_reviewed(request: pytest.FixtureRequest) -> None:
    parts = []
    for name, value, _, _ in WRONG:
        told = "" if value is None else f"={value[:40]}"
        parts.append(f"{name}{told}")
        for problem in check_variable(name, value):
            parts.append(f"  {problem.severity}: {problem.message}")
            parts += [f"    {problem.fix}"] if problem.fix else []
    text = "\n".join(parts) + "\n"
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "value"), RIGHT)
def test_what_is_right_is_not_questioned(name: str, value: str | None) -> None:
    assert check_variable(name, value) == []


@pytest.mark.parametrize(("name", "value", "severity", "part"), WRONG)
def test_messages_are_of_one_style(
    name: str, value: str | None, severity: str, part: str
) -> None:
    del severity, part
    for problem in check_variable(name, value):
        for text in filter(None, (problem.message, problem.fix)):
            assert "\n" not in text
            assert not text.endswith((".", " "))


NAME = st.one_of(
    st.sampled_from(NAMES),
    st.sampled_from(NAMES).map(lambda name: name[:-1]),
    st.from_regex(r"(NCCL|FI_CXI|MIOPEN|SLURM|MY)_[A-Z_]{0,20}", fullmatch=True),
    st.text(max_size=20),
)
VALUE = st.one_of(
    st.none(),
    st.text(max_size=30),
    st.text(alphabet="0123456789xkM,.-+eE ^=~|${}:'\"", max_size=12),
    st.integers().map(str),
)


@given(name=NAME, value=VALUE)
def test_no_name_and_no_value_is_too_much(name: str, value: str | None) -> None:
    for problem in check_variable(name, value):
        assert problem.severity in {"error", "warning"}
        assert problem.message


@given(name=st.sampled_from(NAMES), reference=st.from_regex(r"[A-Z_]+", fullmatch=True))
def test_a_reference_alone_is_never_a_wrong_value(name: str, reference: str) -> None:
    assert check_variable(name, f"${{{reference}}}") == check_variable(name, None)

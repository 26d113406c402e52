"""Defaults as the sources of the programs have them, read there in November 2026.

NCCL: parameters of 2.26 to 2.32; libfabric: the provider for Slingshot; the plugin:
nccl_ofi_param.h; PyTorch: ProcessGroupNCCL.cpp and its flight recorder.
"""

from __future__ import annotations

import pytest

from envcfg.knowledge.variables import load_variables

DEFAULTS = {
    # NCCL
    "NCCL_BOOTSTRAP_BIDIR_ALLGATHER": "1",
    "NCCL_CHECK_POINTERS": "0",
    "NCCL_COLLNET_NODE_THRESHOLD": "2",
    "NCCL_CONNECT_ROUND_MAX_PEERS": "128",
    "NCCL_CROSS_NIC": "2",
    "NCCL_GDRCOPY_ENABLE": "0",
    "NCCL_GDRCOPY_FIFO_ENABLE": "1",
    "NCCL_GDRCOPY_FLUSH_ENABLE": "0",
    "NCCL_GDRCOPY_SYNC_ENABLE": "1",
    "NCCL_GRAPH_MIXING_SUPPORT": "1",
    "NCCL_GRAPH_REGISTER": "1",
    "NCCL_IB_AR_THRESHOLD": "8192",
    "NCCL_IB_DATA_DIRECT": "1",
    "NCCL_IB_ECE_ENABLE": "1",
    "NCCL_IB_GID_INDEX": "-1",
    "NCCL_IB_MERGE_NICS": "1",
    "NCCL_IB_MQP_RETRY_CNT": "34",
    "NCCL_IB_MQP_RETRY_SLEEP_MSEC": "100",
    "NCCL_IB_PCI_RELAXED_ORDERING": "2",
    "NCCL_IB_QPS_PER_CONNECTION": "1",
    "NCCL_IB_RETRY_CNT": "7",
    "NCCL_IB_RETURN_ASYNC_EVENTS": "1",
    "NCCL_IB_ROCE_VERSION_NUM": "2",
    "NCCL_IB_SPLIT_DATA_ON_QPS": "0",
    "NCCL_IB_TIMEOUT": "20",
    "NCCL_IB_USE_INLINE": "0",
    "NCCL_IGNORE_CPU_AFFINITY": "0",
    "NCCL_LL128_C2C": "1",
    "NCCL_LOCAL_REGISTER": "1",
    "NCCL_MNNVL_ENABLE": "2",
    "NCCL_NET_FORCE_FLUSH": "0",
    "NCCL_NVLS_CHUNKSIZE": "131072",
    "NCCL_NVLS_ENABLE": "2",
    "NCCL_NVLS_UB_SIZE": "-1",
    "NCCL_P2P_LL_THRESHOLD": "16384",
    "NCCL_P2P_NET_CHUNKSIZE": "131072",
    "NCCL_P2P_NVL_CHUNKSIZE": "524288",
    "NCCL_P2P_PCI_CHUNKSIZE": "131072",
    "NCCL_P2P_PXN_LEVEL": "2",
    "NCCL_PROGRESS_APPENDOP_FREQ": "8",
    "NCCL_PROXY_APPEND_BATCH_SIZE": "16",
    "NCCL_PXN_DISABLE": "0",
    "NCCL_RAS_TIMEOUT_FACTOR": "1",
    "NCCL_RUNTIME_CONNECT": "1",
    "NCCL_SHM_LOCALITY": "2",
    "NCCL_SHM_MEMCPY_MODE": "1",
    "NCCL_SOCKET_RETRY_CNT": "34",
    "NCCL_SYM_CTAS": "0",
    "NCCL_UID_STAGGER_RATE": "7000",
    "NCCL_UID_STAGGER_THRESHOLD": "256",
    # libfabric, its plugin, RCCL
    "FI_CXI_DEFAULT_RX_SIZE": "1024",
    "FI_CXI_DEFAULT_TX_SIZE": "1024",
    "NCCL_IB_QPS_PER_P2P": "0",
    "OFI_NCCL_CQ_READ_COUNT": "4",
    "OFI_NCCL_CQ_SIZE": "12288",
    "OFI_NCCL_MIN_STRIPE_SIZE": "131072",
    "OFI_NCCL_PROTOCOL": "SENDRECV",
    "OFI_NCCL_SCHED_MAX_SMALL_RR_SIZE": "64",
    # PyTorch
    "TORCH_FR_DUMP_DYNAMIC_FILE_NAME": "0",
    "TORCH_INCLUDE_ONLY_ACTIVE": "0",
    "TORCH_INCLUDE_STACK_TRACE": "1",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "3",
    "TORCH_NCCL_BLOCKING_WAIT": "0",
    "TORCH_NCCL_COORD_CHECK_MILSEC": "1000",
    "TORCH_NCCL_DESYNC_DEBUG": "0",
    "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
    "TORCH_NCCL_ENABLE_MONITORING": "1",
    "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "480",
    "TORCH_NCCL_NAN_CHECK": "0",
    "TORCH_NCCL_PROPAGATE_ERROR": "0",
    "TORCH_NCCL_RETHROW_CUDA_ERRORS": "1",
    "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "15000",
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_default_is_that_of_the_source(name: str) -> None:
    assert load_variables()[name].default == DEFAULTS[name]

"""The warnings that users meet most often: each has a rule with its cause and a fix.

The lines are those of the threads in front of them, with other names of hosts.
"""

from __future__ import annotations

import pytest

from envcfg.log.read.prefix import parse
from envcfg.log.read.rulebook import Rulebook, load_rules

RULEBOOK = Rulebook(load_rules())
NCCL = "nid001234:4711:4802 [0] "

# The thread, the line in it, and the rule.
TABLE = """
nccl-tests#185    | misc/ibvwrap.cc:187 NCCL WARN Call to ibv_modify_qp failed with error Network is unreachable | ib-qp-unreachable
nccl-tests#227    | ibvwrap.c:160 NCCL WARN Call to ibv_modify_qp failed with error Connection timed out | ib-modify-qp
nccl#925          | misc/ibvwrap.cc:264 NCCL WARN Call to ibv_modify_qp failed with error No such device | ib-qp-no-device
nccl#302          | misc/ibvwrap.cc:284 NCCL WARN Call to ibv_modify_qp failed with error Invalid argument | ib-qp-invalid
nccl#1405         | ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer 10.216.210.236<54862> with status=12 opcode=0 len=0 vendor err 129 (Recv) | ib-completion-timeout
nccl#1664         | transport/net_ib.cc:1300 NCCL WARN NET/IBP:Got completion from peer 7.6.13.83<36315> with status=12 opcode=32698 len=32696 vendor err 129 (Send) | ib-completion-timeout
nccl#928          | transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer fe80::966d%ib0<53249> with error 4, opcode 32564, len 32564, vendor err 81 (Send) | ib-completion-memory
aws-ofi-nccl#161  | ofi_process_cq:1033 NCCL WARN NET/OFI Request completed with error. RC: 21. Error: unknown error | ofi-request-failed
aws-ofi-nccl#889  | nccl_net_ofi_domain_get_ep:969 NCCL WARN NET/OFI Creating new endpoint for domain 0x7f9befa99380 failed: Invalid argument | ofi-open-failed
aws-ofi-nccl#801  | create_nccl_ofi_component:667 NCCL WARN NET/OFI Couldn't open a fabric access domain. RC: -38, ERROR: Function not implemented | ofi-open-failed
aws-ofi-nccl#24   | create_nccl_ofi_component:459 NCCL WARN NET/OFI Couldn't open AV. RC: -22, ERROR: Invalid argument | ofi-open-failed
aws-ofi-nccl#803  | configure_ep:100 NCCL WARN NET/OFI Disabling shared memory failed: Protocol not available | ofi-endpoint-option
aws-dlc#2675      | nccl_net_ofi_init:100 NCCL WARN NET/OFI Only EFA provider is supported | ofi-only-efa
nccl-tests#166    | misc/shmutils.cc:112 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-KWfVyt (size 5967872) | shared-memory-full
nccl-tests#166    | misc/shmutils.cc:71 NCCL WARN Error: failed to extend /dev/shm/nccl-fjwOOB to 5967876 bytes | shared-memory-full
pytorch-ci#490    | misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes, error: No space left on device (28) | shared-memory-full
nccl#525          | include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device | shared-memory-call
vllm#18831        | misc/shmutils.cc:90 NCCL WARN Error while attaching to shared memory segment /dev/shm/nccl- (size 192814336), error: No such file or directory (2) | shared-memory-gone
nccl#1518         | misc/shmutils.cc:103 NCCL WARN Cuda failure 'invalid argument' | cuda-failure
rccl#1026         | init.cpp:126 NCCL WARN Missing "HSA_FORCE_FINE_GRAIN_PCIE=1" from environment which can lead to low RCCL performance, system instablity or hang! | rccl-fine-grain
rccl#1026         | init.cpp:120 NCCL WARN Missing "amd_iommu=on" from kernel command line which can lead to system instablity or hang! | rccl-iommu
rccl#1454         | init.cc:136 NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang! | rccl-iommu
rccl#2188         | transport/p2p.cc:256 NCCL WARN hipIpcGetMemHandle failed : invalid argument | hip-ipc
nccl-tests#162    | misc/socket.cc:483 NCCL WARN socketStartConnect: Connect to 10.0.0.2<45763> failed : Software caused connection abort | connect-failed-2-16
nccl#1232         | misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer node1<57557> | peer-closed
nccl-tests#166    | proxy.cc:1519 NCCL WARN [Proxy Service 0] Failed to execute operation Connect from rank 0, retcode 2 | proxy-service
nccl#952          | proxy.cc:1485 NCCL WARN [Service thread] Error encountered progressing operation=Connect, res=2, closing connection | service-thread
nccl-tests#166    | proxy.cc:1143 NCCL WARN Socket recv failed while polling for opId=0x7f6f18cb7f40 | proxy-poll
nccl#1837         | misc/socket.cc:440 NCCL WARN ncclSocketInit: connecting to address  with family 59936 is neither AF_INET(2) nor AF_INET6(10) | bootstrap-address-family
nccl#210          | include/socket.h:344 NCCL WARN Socket creation failed : Address family not supported by protocol | socket-create
nccl#1672         | transport/nvls.cc:598 NCCL WARN Cuda failure 1 'invalid argument' | cuda-nvls
pytorch#177472    | transport/nvls.cc:160 NCCL WARN Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 401 'the operation cannot be performed in the present state'. | nvls-bind
nccl#573          | graph/xml.cc:332 NCCL WARN Could not find real path of /sys/class/pci_bus/0000:01/../../0000:01:00.0 | sys-path
nccl#444          | misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1] | ib-library
nccl#444          | enqueue.cc:215 NCCL WARN Cuda failure 'invalid device function' | cuda-no-kernel
nccl#1029         | misc/cudawrap.cc:33 NCCL WARN Cuda failure 'initialization error' | cuda-not-started
nccl-tests#188    | misc/socket.cc:441 NCCL WARN socketFinalizeAccept: wrong type 4 != 3 | socket-stranger
BasicSR#737       | [rank1]:[E626 06:24:44.903881913 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=808, OpType=ALLREDUCE, NumelIn=9801523, NumelOut=9801523, Timeout(ms)=600000) ran for 600020 milliseconds before timing out. | torch-watchdog
ArcticTraining#219 | [rank5]:[E626 16:48:25.440238649 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank 5]  failure detected by watchdog at work sequence id: 120049 PG status: last enqueued work: 120051, last completed work: 120048 | torch-watchdog-detected
nccl#1410         | ncclUnhandledCudaError: Call to CUDA function failed. | result-cuda
nccl#975          | ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. | result-system
"""  # fmt: skip
ROWS = [tuple(map(str.strip, line.split(" | "))) for line in TABLE.strip().splitlines()]


def test_there_are_forty() -> None:
    assert len({line for _, line, _ in ROWS}) >= 40


@pytest.mark.parametrize(("thread", "line", "rule"), ROWS)
def test_a_frequent_warning_has_its_cause_and_fix(
    thread: str, line: str, rule: str
) -> None:
    record = parse(NCCL + line if "NCCL WARN" in line else line)
    match = RULEBOOK.match(record.message, record.where)
    assert match, thread
    assert match.rule.id == rule
    assert match.rule.meaning
    assert match.rule.fix

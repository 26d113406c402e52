"""Exporters of a site: real HTTP on this machine, with answers like those of the real ones.

DCGM-exporter: etc/default-counters.csv and the labels in its documentation; AMD's
device-metrics-exporter: docs/configuration/metricslist.md; Omnistat: docs/metrics.md.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Body = Callable[[], bytes]


def dcgm(
    uses: Sequence[object],
    host: str = "nid001000",
    *,
    clock: int = 1980,
    xid: int = 0,
    free: int = 40960,
) -> str:
    """Return an answer of dcgm-exporter for GPUs of these uses, with 80 GiB."""
    metrics = {
        "DCGM_FI_DEV_SM_CLOCK": ("gauge", lambda _: clock),
        "DCGM_FI_DEV_MEM_CLOCK": ("gauge", lambda _: 2619),
        "DCGM_FI_DEV_GPU_TEMP": ("gauge", lambda n: 41 + n),
        "DCGM_FI_DEV_POWER_USAGE": ("gauge", lambda n: 512.345 + n),
        "DCGM_FI_DEV_GPU_UTIL": ("gauge", lambda n: uses[n]),
        "DCGM_FI_DEV_XID_ERRORS": ("gauge", lambda _: xid),
        "DCGM_FI_DEV_FB_FREE": ("gauge", lambda _: free),
        "DCGM_FI_DEV_FB_USED": ("gauge", lambda _: 40960),
        "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": ("counter", lambda _: 0),
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": ("counter", lambda n: 3 * n),
        "DCGM_FI_DEV_VGPU_LICENSE_STATUS": ("gauge", lambda _: 0),
    }
    lines = []
    for name, (kind, value) in metrics.items():
        lines += [f"# HELP {name} A value (in its unit).", f"# TYPE {name} {kind}"]
        lines += [
            f'{name}{{gpu="{n}",UUID="GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e5{n}",'
            f'pci_bus_id="00000000:{n}B:00.0",device="nvidia{n}",'
            f'modelName="NVIDIA H100 80GB HBM3",Hostname="{host}",'
            f'DCGM_FI_DRIVER_VERSION="550.90.07"}} {value(n)}'
            for n in range(len(uses))
        ]
    return "\n".join(lines) + "\n"


def amd(uses: Sequence[object], host: str = "nid001000") -> str:
    """Return an answer of AMD's device-metrics-exporter."""
    lines = []
    for n, use in enumerate(uses):
        labels = (
            f'card_model="102-G30211-0C",card_vendor="AMD",cluster_name="",gpu_id="{n}",'
            f'gpu_compute_partition_type="spx",hostname="{host}",serial_number="69{n}"'
        )
        lines += [
            f"gpu_gfx_activity{{{labels}}} {use}",
            f"gpu_total_vram{{{labels}}} 196592",
            f"gpu_used_vram{{{labels}}} 98304",
            f"gpu_package_power{{{labels}}} 55{n}",
            f'gpu_clock{{clock_index="0",clock_type="GPU_CLOCK_TYPE_SYSTEM",{labels}}} 2100',
            f'gpu_clock{{clock_index="1",clock_type="GPU_CLOCK_TYPE_SYSTEM",{labels}}} 132',
            f'gpu_clock{{clock_index="8",clock_type="GPU_CLOCK_TYPE_MEMORY",{labels}}} 900',
            f"gpu_ecc_correct_total{{{labels}}} 4",
            f"gpu_ecc_uncorrect_total{{{labels}}} 0",
        ]
    return "\n".join(lines) + "\n"


def omnistat(uses: Sequence[object]) -> str:
    """Return an answer of Omnistat."""
    lines = ["# HELP rocm_num_gpus # of GPUS available on host", "rocm_num_gpus 2.0"]
    for n, use in enumerate(uses):
        lines += [
            f'rocm_vram_total_bytes{{card="{n}"}} 6.8702699520e+010',
            f'rocm_vram_used_percentage{{card="{n}"}} 50.0',
            f'rocm_utilization_percentage{{card="{n}"}} {use}',
            f'rocm_average_socket_power_watts{{card="{n}",source="average_socket_power"}} 410.0',
            f'rocm_sclk_clock_mhz{{card="{n}",source="average_gfxclk_frequency"}} 1700.0',
        ]
    return "\n".join(lines) + "\n"


@contextmanager
def serving(body: Body, *, status: int = 200) -> Iterator[int]:
    """Answer each question by *body*; give the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == "/metrics"
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            try:
                self.wfile.write(body())
            except OSError:  # who asked has gone
                return

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()

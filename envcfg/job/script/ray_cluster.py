"""Make one Ray cluster of the tasks of a step, and run a command on the first node.

The module ``ray`` contains the text of this file. It runs in the container, once per
node, and needs only Python 3.8 and Ray. Arguments: the number of nodes, the rank of this
node, the address of the first node, the port of the head, a name that only this step
has, and the command.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
from typing import Any, NoReturn

# The start of a node takes 5 to 10 s, and longer if all read the image at once.
LIMIT = int(os.environ.pop("ENVCFG_RAY_SECONDS", "") or 300)
# More options of ray start for the head, such as --include-dashboard=true.
HEAD = shlex.split(os.environ.pop("ENVCFG_RAY_HEAD", ""))
# The outer and the inner mask of AMD's GPUs.
AMD = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
LIBC = ctypes.CDLL(None)
OTHERS = """
import json, sys, time, ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level=40)
end = time.monotonic() + float(sys.argv[3])
while True:
    nodes = [node for node in ray.nodes() if node["Alive"]]
    if len(nodes) >= int(sys.argv[2]) or time.monotonic() > end:
        break
    time.sleep(1)
own = ("NodeManagerHostname", "Resources", "NodeManagerAddress", "NodeManagerPort")
shown = [[node[key] for key in own] for node in nodes]
print("nodes=" + json.dumps(shown))
"""

ASKED = """
from ray._private.accelerators.amd_gpu import AMDGPUAcceleratorManager as manager
print(manager.get_visible_accelerator_ids_env_var())
"""


def tell(kind: str, message: str, hint: str = "") -> None:
    """Write a message of envcfg to stderr."""
    text = f"envcfg: {kind}: {message}\n"
    sys.stderr.write(text + (f"  hint: {hint}\n" if hint else ""))
    sys.stderr.flush()


def fail(message: str, hint: str = "") -> NoReturn:
    """Write an error and end this task."""
    tell("error", message, hint)
    raise SystemExit(4)


def interface_address(name: str) -> str | None:
    """Return the IPv4 address of a network interface, if it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        request = struct.pack("256s", name.encode()[:15])
        try:  # SIOCGIFADDR of netdevice(7)
            reply = fcntl.ioctl(probe.fileno(), 0x8915, request)
        except OSError:
            return None
    return socket.inet_ntoa(reply[20:24])


def node_address(first: str) -> str:
    """Return the address by which other nodes reach this one.

    It is that of the interface which the ranks of the job use. Without one, it is the
    address from which this node reaches the *first* one.
    """
    names = sorted(name for _, name in socket.if_nameindex())
    for variable in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
        value = os.environ.get(variable, "")
        if value.startswith("^"):
            continue
        for wanted in filter(None, value.lstrip("=").split(",")):
            is_exact = variable.startswith("GLOO") or value.startswith("=")
            for name in names:
                if name == wanted or (name.startswith(wanted) and not is_exact):
                    address = interface_address(name)
                    if address:
                        return address
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((first, 9))  # a datagram socket sends nothing here
        except OSError as error:
            fail(f"{first} is not reached from here: {error}", "set MASTER_ADDR")
        return str(probe.getsockname()[0])


def ray_mask() -> str:
    """Return the variable in which this image's Ray reads the mask of AMD's GPUs.

    Ray before 2.45 reads ROCR_VISIBLE_DEVICES, later versions refuse it.
    """
    words = [sys.executable, "-c", ASKED]
    answer = subprocess.run(words, capture_output=True, check=False)
    return AMD[answer.stdout.split()[-1:] != [AMD[0].encode()]]


def translate_masks() -> int | None:
    """Leave one mask of GPUs, in the variable that Ray reads; return its length.

    HIP counts the GPUs that ROCR shows. Without ROCR it counts the same GPUs as ROCR,
    in the same order.
    """
    outer, inner = (os.environ.pop(name, None) for name in AMD)
    mask = inner if outer is None else outer
    if outer and inner and outer != inner:
        gpus = dict(enumerate(outer.split(",")))
        words = [int(word) if word.isdecimal() else -1 for word in inner.split(",")]
        if not gpus.keys() >= set(words):
            fail(
                f"ROCR_VISIBLE_DEVICES={outer} and HIP_VISIBLE_DEVICES={inner}",
                "set one of them: HIP counts the GPUs that ROCR shows, from 0",
            )
        mask = ",".join(gpus[word] for word in words)
    if mask is not None:
        os.environ[ray_mask()] = mask
    for name in (*AMD, "CUDA_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"):
        mask = os.environ.get(name)
        if mask is not None and mask != "NoDevFiles":
            return len([word for word in mask.split(",") if word])
    return None


def job_memory() -> int:
    """Return the memory that this task may use, in bytes."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    slurm = os.environ.get("SLURM_MEM_PER_NODE", "")
    if slurm.isdecimal() and int(slurm):
        limits.append(int(slurm) << 20)
    with open("/proc/self/cgroup", encoding="utf-8") as lines:
        groups = [line.rstrip("\n").split(":", 2)[1:] for line in lines]
    for controllers, path in groups:
        if controllers not in {"", "memory"}:
            continue
        base = "/sys/fs/cgroup" + ("/memory" if controllers else "")
        name = "memory.limit_in_bytes" if controllers else "memory.max"
        parts = path.strip("/").split("/")
        for depth in range(len(parts) + 1):
            folder = "/".join([base, *parts[:depth]])
            try:
                with open(f"{folder}/{name}", encoding="utf-8") as file:
                    text = file.read().strip()
            except OSError:
                continue
            limits += [int(text)] if text.isdecimal() else []
    return min(limits)


def is_listening(address: str, port: int) -> bool | None:
    """Return whether the head answers; None if its node does not."""
    try:
        socket.create_connection((address, port), timeout=5).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        return None
    return True


def spawn(words: list[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a program that ends with this one, in a session of its own.

    The starter sends a signal to all processes of the task. It must reach the command
    once, and Ray never: the command may need Ray to save its state.
    """

    def die_with_parent() -> None:
        LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG

    return subprocess.Popen(
        words, start_new_session=True, preexec_fn=die_with_parent, **options
    )


def end_children() -> bool:
    """Kill all children of this process; return whether it had any."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        pids = [int(word) for word in file.read().split()]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return bool(pids)


def warn_of_smaller(nodes: list[Any]) -> None:
    """Warn about each node with fewer CPUs or GPUs than another."""
    for key in ("GPU", "CPU"):
        counts = {name: int(resources.get(key, 0)) for name, resources, *_ in nodes}
        most = max(counts.values())
        for name in sorted(name for name, count in counts.items() if count < most):
            message = f"Ray counts {counts[name]} {key}s on {name}"
            tell("warning", f"{message}, and {most} on another node")


class Node:
    """The processes of one task: Ray, and on the first node the command."""

    def __init__(self, arguments: list[str]) -> None:
        """Read the arguments of the task."""
        self.nodes, self.rank = int(arguments[0]), int(arguments[1])
        self.first, self.port = arguments[2], int(arguments[3])
        # The paths of sockets have 64 more characters, and may have 107.
        name = re.sub(r"[^\w.-]", "_", arguments[4])
        self.folder = f"/tmp/ray-{name}"[:40]
        self.words = arguments[5:]
        self.name = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
        self.signals: list[int] = []
        self.last = (0, 0.0)
        self.others: list[Any] = []
        self.silent: dict[str, int] = {}  # turns without an answer, by node
        self.ray: subprocess.Popen[bytes] | None = None
        self.command: subprocess.Popen[bytes] | None = None

    def run(self) -> int:
        """Start Ray, and return the exit code of the task."""
        for number in (1, 2, 3, 10, 12, 15):  # HUP INT QUIT USR1 USR2 TERM
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self.receive)
        LIBC.prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: adopt what Ray leaves behind
        try:
            self.make_folder()
            self.start()
            return self.work() if self.rank == 0 else self.serve()
        finally:
            self.stop()

    def make_folder(self) -> None:
        """Make the folder for the files of Ray: its path is the same on all nodes."""
        try:
            # A job that starts again has the name of its first start.
            status = os.lstat(self.folder)
            if status.st_uid == os.getuid() and stat.S_ISDIR(status.st_mode):
                shutil.rmtree(self.folder)
        except FileNotFoundError:
            pass
        try:
            os.mkdir(self.folder, 0o700)
        except OSError as error:
            fail(f"{self.name}: {self.folder} cannot be made: {error.strerror}")

    def receive(self, number: int, _frame: object) -> None:
        """Pass a signal to the command; before it runs, end this task.

        On the other nodes Ray goes on: a signal may be a warning, after which the
        command works for minutes.
        """
        # The starter sends a signal to all processes, and the runtime passes it on.
        is_second = self.last[0] == number and time.monotonic() < self.last[1] + 1
        self.last = (number, time.monotonic())
        if is_second:
            return
        if self.command is not None:
            self.command.send_signal(number)
        elif self.rank == 0 or self.ray is None:
            raise SystemExit(128 + number)
        elif number not in (signal.SIGUSR1, signal.SIGUSR2):
            self.signals.append(number)

    def start(self) -> None:
        """Start Ray, on the other nodes after the head."""
        gpus = translate_masks()
        self.address = node_address(self.first)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it needs the internet
        os.environ.setdefault("VLLM_HOST_IP", self.address)
        shared = os.statvfs("/dev/shm")
        store = min(job_memory() * 3 // 10, shared.f_bavail * shared.f_frsize * 9 // 10)
        words = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block"]
        words += [f"--node-ip-address={self.address}", f"--temp-dir={self.folder}"]
        words += [f"--num-cpus={len(os.sched_getaffinity(0))}"]
        words += [f"--num-gpus={gpus}"] if gpus is not None else []
        words += [f"--object-store-memory={max(store, 80 << 20)}"]
        # The kernel chooses all other ports, so no other job can have them.
        words += ["--min-worker-port=0", "--max-worker-port=0"]
        words += [f"--dashboard-agent-listen-port={self.port + 2}"]
        if self.rank == 0:
            if is_listening(self.address, self.port):
                fail(
                    f"port {self.port} of {self.name} is in use",
                    "export MASTER_PORT=N for another one",
                )
            # A job that is submitted to Ray goes through its dashboard.
            is_job = " ".join(self.words[:2]).endswith("ray job")
            words += ["--head", f"--port={self.port}"]
            words += [f"--include-dashboard={str(is_job).lower()}"]
            if importlib.util.find_spec("grpc"):  # without it, Ray refuses the option
                words += [f"--ray-client-server-port={self.port + 1}"]
            words += HEAD
            os.environ["RAY_ADDRESS"] = f"{self.address}:{self.port}"
        else:
            self.await_head()
            words += [f"--address={self.first}:{self.port}"]
        own = {
            name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"
        }
        with open(f"{self.folder}/start.log", "wb") as log:
            self.ray = spawn(
                words, env=own, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def await_head(self) -> None:
        """Wait until the head answers."""
        end = time.monotonic() + LIMIT
        while not is_listening(self.first, self.port):
            if time.monotonic() > end:
                fail(
                    f"{self.name}: the head of Ray at {self.first}:{self.port} does not "
                    f"answer after {LIMIT} s",
                    "export ENVCFG_RAY_SECONDS=N for a longer wait",
                )
            time.sleep(1)

    def work(self) -> int:
        """Run the command when all nodes are there; return its exit code."""
        nodes = self.joined_nodes()
        cpus, gpus = (
            int(sum(resources.get(key, 0) for _, resources, *_ in nodes))
            for key in ("CPU", "GPU")
        )
        many = "1 node" if len(nodes) == 1 else f"{len(nodes)} nodes"
        message = f"Ray runs on {many} with {cpus} CPUs and {gpus} GPUs"
        tell("note", f"{message} at {self.address}:{self.port}")
        warn_of_smaller(nodes)
        try:
            self.command = spawn(self.words)
        except OSError as error:
            tell("error", f"{self.words[0]}: {error.strerror}")
            return 126 if isinstance(error, PermissionError) else 127
        self.others = [node for node in nodes if node[2] != self.address]
        turns = 0
        while True:
            try:
                code = self.command.wait(timeout=1)
                return int(code if code >= 0 else 128 - code)
            except subprocess.TimeoutExpired:
                self.check_ray()
            if self.others:
                turns += 1
                self.check_node(*self.others[turns % len(self.others)])

    def joined_nodes(self) -> list[Any]:
        """Return name and resources of each node, once all are there."""
        end = time.monotonic() + LIMIT
        while not is_listening(self.address, self.port):
            self.check_ray()
            if time.monotonic() > end:
                fail(f"{self.name}: the head of Ray does not start in {LIMIT} s")
            time.sleep(0.2)
        left = str(max(5, end - time.monotonic()))
        address = f"{self.address}:{self.port}"
        words = [sys.executable, "-c", OTHERS, address, str(self.nodes), left]
        asked = spawn(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        output = b""
        while not output:
            try:
                output = asked.communicate(timeout=1)[0] or b"none"
            except subprocess.TimeoutExpired:
                self.check_ray()
        lines = [
            line for line in output.decode().splitlines() if line.startswith("nodes=")
        ]
        nodes: list[Any] = json.loads(lines[-1][6:]) if lines else []
        if len(nodes) < self.nodes:
            names = " ".join(sorted(name for name, *_ in nodes)) or "none"
            fail(
                f"Ray has {len(nodes)} of {self.nodes} nodes after {LIMIT} s: {names}",
                "the messages of the other nodes are above; "
                "export ENVCFG_RAY_SECONDS=N for a longer wait",
            )
        return nodes

    def check_ray(self) -> None:
        """End the task if Ray has ended on this node."""
        if self.ray is None or self.ray.poll() is None:
            return
        with open(
            f"{self.folder}/start.log", encoding="utf-8", errors="replace"
        ) as log:
            lines = [line for line in log.read().splitlines() if line.strip()]
        sys.stderr.write("".join(f"envcfg: Ray: {line}\n" for line in lines[-15:]))
        fail(f"Ray has ended on {self.name}", "its last lines are above")

    def check_node(self, name: str, _: object, address: str, port: int) -> None:
        """End the task if another node has not answered for six turns.

        Slurm may not know for minutes that a node is cut off, and Ray's programs wait for
        it without end.
        """
        silent = is_listening(address, port) is None
        self.silent[name] = self.silent.get(name, 0) + 1 if silent else 0
        if self.silent[name] == 6:
            fail(f"{self.name} does not reach Ray on {name} any more")

    def serve(self) -> int:
        """Keep Ray on this node until the head has ended; return an exit code."""
        refused = silent = 0
        while True:
            answer = is_listening(self.first, self.port)
            refused = refused + 1 if answer is False else 0
            silent = silent + 1 if answer is None else 0
            # Without a signal, the head may start again. The step's code is the head's.
            if refused >= (1 if self.signals else 6):
                return 0
            if silent == 6:
                fail(f"{self.name} does not reach the head of Ray any more")
            # Ray ends here also because the head ends, and then the port is closed.
            if refused == 0:
                self.check_ray()
            time.sleep(0.5)

    def stop(self) -> None:
        """End the command and Ray on this node, and remove their files.

        A site may kill all processes of the step 2 s after its first signal.
        """
        if self.command is not None and self.command.poll() is None:
            self.command.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.command.wait(timeout=1)
        # What a killed process leaves behind belongs to this one a moment later.
        quiet = 0
        while quiet < 3:
            quiet = 0 if end_children() else quiet + 1
            time.sleep(0.05)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.await_others()

    def await_others(self) -> None:
        """Wait until Ray has ended on the other nodes.

        When this task fails, mpiexec kills the others, and their files would stay.
        """
        end = time.monotonic() + 10
        for _, _, address, port in self.others:
            while is_listening(address, port) and time.monotonic() < end:
                time.sleep(0.2)
        if self.others:
            time.sleep(1)  # they remove their files after that


if __name__ == "__main__":
    sys.exit(Node(sys.argv[1:]).run())

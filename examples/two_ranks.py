"""A distributed program with nothing but the standard library.

Each rank prints what envcfg gave it; then all send their rank number to rank 0, at
MASTER_ADDR and MASTER_PORT, and get back the sum.
"""

import os
import socket
import time

RANK, WORLD_SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
MASTER = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
SHOWN = "RANK LOCAL_RANK NODE_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT"


def serve() -> int:
    """Collect the numbers of the other ranks and send each of them the sum."""
    with socket.create_server(MASTER) as server:
        peers = [server.accept()[0] for _ in range(WORLD_SIZE - 1)]
        total = RANK + sum(int(peer.recv(64)) for peer in peers)
        for peer in peers:
            peer.sendall(str(total).encode())
            peer.close()
    return total


def ask() -> int:
    """Send this rank's number to rank 0, which may not listen yet, and get the sum."""
    for attempt in range(100):
        try:
            with socket.create_connection(MASTER, timeout=10) as peer:
                peer.sendall(str(RANK).encode())
                return int(peer.recv(64))
        except ConnectionRefusedError:
            time.sleep(0.01 * (attempt + 1))
    message = f"rank {RANK}: nobody listens at {MASTER}"
    raise SystemExit(message)


seen = " ".join(f"{name}={os.environ.get(name)}" for name in SHOWN.split())
total = serve() if RANK == 0 else ask()
said = f"{seen}\n  {os.environ.get('GREETING', '')}; the sum of all ranks is {total}\n"
os.write(1, said.encode())  # at once: print() writes the line's end by itself, too late

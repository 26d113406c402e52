"""Send bytes from the first task to the second over one interface, until it is ended."""

import os
import socket
import sys
import time

PORT = 18300
CHUNK = bytes(1 << 20)
PAUSE = 0.02  # seconds: some 50 MB/s

interface, rank = sys.argv[1], int(os.environ["SLURM_PROCID"])
target = f"nid001001-{interface}"
if rank == 1:
    with socket.create_server((target, PORT)) as server:
        connection, _ = server.accept()
        while connection.recv(1 << 20):
            pass
else:
    while True:
        try:
            connection = socket.create_connection((target, PORT))
            break
        except OSError:
            time.sleep(0.1)
    print("flows", flush=True)
    while True:
        connection.sendall(CHUNK)
        time.sleep(PAUSE)

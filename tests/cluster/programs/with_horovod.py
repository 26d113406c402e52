"""Meet by Horovod's gloo contract; each rank prints a line of JSON (see said.py).

Horovod's own library has no wheel, so this reads what it would read (gloo_context.cc) and
talks to Horovod's own rendezvous server as its ranks do: PUT and GET of /scope/key.
"""

import http.client
import os
import time

from said import say

RANK, SIZE = int(os.environ["HOROVOD_RANK"]), int(os.environ["HOROVOD_SIZE"])


def ask(key: str, data: bytes | None = None) -> bytes:
    """Put *data*, or get what is there; wait until there is a server and an answer."""
    address = os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"]
    port = int(os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"])
    for _ in range(300):
        connection = http.client.HTTPConnection(address, port, timeout=10)
        try:
            connection.request("PUT" if data else "GET", f"/global/{key}", data)
            answer = connection.getresponse()
            found = answer.read()
            if answer.status == http.client.OK:
                return found
        except OSError:
            pass  # the server is not there yet
        finally:
            connection.close()
        time.sleep(0.1)
    raise TimeoutError(key)


assert (os.environ["HOROVOD_CONTROLLER"], os.environ["HOROVOD_CPU_OPERATIONS"]) == (
    "gloo",
    "gloo",
)
for name, other in (
    ("RANK", "RANK"),
    ("SIZE", "WORLD_SIZE"),
    ("LOCAL_RANK", "LOCAL_RANK"),
    ("LOCAL_SIZE", "LOCAL_WORLD_SIZE"),
    ("CROSS_RANK", "NODE_RANK"),
):
    assert os.environ[f"HOROVOD_{name}"] == os.environ[other], name
assert int(os.environ["HOROVOD_CROSS_SIZE"]) * int(
    os.environ["HOROVOD_LOCAL_SIZE"]
) == int(os.environ["HOROVOD_SIZE"])
ask(f"rank{RANK}", str(RANK + 1).encode())
total = sum(int(ask(f"rank{rank}")) for rank in range(SIZE))
ask(f"done{RANK}", b"1")
if RANK == 0:  # its end is that of the server
    for rank in range(SIZE):
        ask(f"done{rank}")
say("horovod", RANK, SIZE, total)

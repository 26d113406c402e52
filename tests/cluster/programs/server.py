"""A server with vLLM's options: it answers at /health when another node has connected.

It writes its arguments to the file whose name begins with ``$STARTED``. A second after its
first good answer it ends with code 6.
"""

import argparse
import http.server
import os
import socket
import sys
import threading

parser = argparse.ArgumentParser()
parser.add_argument("command", choices=["serve"])
parser.add_argument("model")
parser.add_argument("--port", type=int, default=8000)
parser.add_argument("--nnodes", type=int, default=1)
parser.add_argument("--node-rank", type=int, default=0)
parser.add_argument("--master-addr", default="127.0.0.1")
parser.add_argument("--master-port", type=int, default=29501)
parser.add_argument("--headless", action="store_true")
given = parser.parse_args()
with open(f"{os.environ['STARTED']}{given.node_rank}", "w", encoding="utf-8") as file:
    file.write(" ".join(sys.argv[1:]))
joined = threading.Event()


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        is_ready = joined.is_set() and self.path == "/health"
        self.send_response(200 if is_ready else 503)
        self.end_headers()
        if is_ready:
            threading.Timer(1, server.shutdown).start()


def wait_for_others() -> None:
    with socket.create_server(("", given.master_port)) as meeting:
        for _ in range(given.nnodes - 1):
            meeting.accept()
    joined.set()


if given.headless:
    while True:
        try:
            socket.create_connection((given.master_addr, given.master_port)).close()
            sys.exit(0)
        except ConnectionRefusedError:
            pass
threading.Thread(target=wait_for_others).start()
server = http.server.HTTPServer(("", given.port), Answer)
server.serve_forever()
sys.exit(6)

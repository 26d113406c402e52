"""A stand-in for NCCL's RAS, by the protocol of its source: ras.py ANSWER [ADDRESS:PORT].

One command per line, in any case: ``CLIENT PROTOCOL n``, ``TIMEOUT seconds``, ``SET FORMAT
text|json``, ``STATUS``, ``VERBOSE STATUS``; after an answer the connection ends. ANSWER is
a file; where it is text, ``SET FORMAT`` is unknown, as before 2.28.7 (src/ras/client_support.cc).
"""

import socketserver
import sys

PORT = 28028


class Server(socketserver.ThreadingTCPServer):
    """Listens on the port that NCCL listens on."""

    allow_reuse_address = True
    daemon_threads = True
    answer = b""


class Client(socketserver.StreamRequestHandler):
    """One that asks."""

    def handle(self) -> None:
        """Answer its commands until one of them is for the status."""
        assert isinstance(self.server, Server)
        knows_json = self.server.answer.lstrip().startswith(b"{")
        for line in self.rfile:
            command = line.strip().lower()
            if command.startswith(b"client protocol "):
                self.wfile.write(b"SERVER PROTOCOL 2\n")
            elif command.startswith(b"timeout "):
                good = command.split()[1].replace(b".", b"").isdigit()
                self.wfile.write(b"OK\n" if good else b"ERROR: Invalid timeout value\n")
            elif command.startswith(b"set format ") and knows_json:
                self.wfile.write(b"OK\n")
            elif command in (b"status", b"verbose status"):
                self.wfile.write(self.server.answer)
                return
            else:
                self.wfile.write(b"ERROR: Unknown command " + line.strip() + b"\n")


def main() -> None:
    """Serve until the end."""
    with open(sys.argv[1], "rb") as file:
        Server.answer = file.read()
    host, _, port = (
        sys.argv[2] if len(sys.argv) > 2 else f"127.0.0.1:{PORT}"
    ).rpartition(":")
    with Server((host, int(port)), Client) as server:
        print(f"listens on {server.server_address[1]}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()

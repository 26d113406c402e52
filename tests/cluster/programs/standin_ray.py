#!/usr/bin/env python3
"""Stands in for ray: a head that counts its workers, workers, and who asks for them.

``start --head --port=N --block``, ``start --address=HOST:N --block``, ``health-check
--address HOST:N``; ``ask`` prints the hosts of all, by RAY_ADDRESS, once there are so many.
"""

import os
import socket
import sys
import time


def connect(address: str) -> socket.socket:
    host, _, port = address.partition(":")
    return socket.create_connection((host, int(port)), timeout=30)


def head(port: int) -> None:
    hosts = [os.uname().nodename]
    kept = []
    with socket.create_server(("", port)) as server:
        while True:
            peer, _ = server.accept()
            words = peer.recv(200).decode().split()
            if words[:1] == ["join"]:
                hosts.append(words[1])
                kept.append(peer)
            else:
                peer.sendall(" ".join(hosts).encode())
                peer.close()


def main(words: list[str]) -> int:
    options = dict(word.partition("=")[::2] for word in words)
    if words[0] == "start" and "--head" in options:
        head(int(options["--port"]))
    if words[0] == "start":
        try:
            with connect(options["--address"]) as peer:
                peer.sendall(f"join {os.uname().nodename}".encode())
                peer.settimeout(None)
                peer.recv(1)
        except OSError:
            return 1
        return 0
    if words[0] == "health-check":
        try:
            connect(words[2]).close()
        except OSError:
            return 1
        return 0
    hosts: list[str] = []
    while len(hosts) < int(words[1]):
        with connect(os.environ["RAY_ADDRESS"]) as peer:
            peer.sendall(b"ask")
            hosts = peer.recv(1000).decode().split()
        time.sleep(0.2)
    gpus = os.environ.get("ROCR_VISIBLE_DEVICES", "all")
    print("cluster", *hosts, "asked by", os.uname().nodename, "sees", gpus, flush=True)
    return int(words[2])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

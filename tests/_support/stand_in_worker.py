"""A real process that runs the real worker with a stand-in for spu, which CI does not have.

The stand-in keeps nothing private: it sends one set to the other side in the clear over loopback and compares there. It
is for the pipes, the files and the steps around spu, and says nothing about RR22 or TLS. The first argument says how it
misbehaves, `well` not at all; the second at which end of the link, if it gets so far.
"""

import os
import runpy
import socket
import struct
import sys
import time
import types
from pathlib import Path

from_repository = Path(__file__).parents[2] / "src" / "privee" / "data" / "alignment" / "spu" / "worker.py"


class Options(types.SimpleNamespace):
    """Takes any setting."""


class Desc(Options):
    def __init__(self):
        ends = {name: Options(cert=Options(), verify=Options()) for name in ("client_ssl_opts", "server_ssl_opts")}
        super().__init__(parties=[], enable_ssl=False, **ends)

    def add_party(self, name, address):
        self.parties.append(address)


class Link:
    """Two processes and a socket."""

    def __init__(self, desc, rank):
        self.rank = rank
        tls = desc.client_ssl_opts, desc.server_ssl_opts
        files = [path for end in tls for path in (end.cert.certificate_path, end.cert.private_key_path)]
        if not desc.enable_ssl or not all(
            Path(path).is_file() for path in [*files, *(e.verify.ca_file_path for e in tls)]
        ):
            raise RuntimeError("no TLS was asked for")
        host, port = desc.parties[0].split(":")
        if rank == 0:
            with socket.create_server((host, int(port))) as server:
                server.settimeout(desc.connect_retry_times * desc.connect_retry_interval_ms / 1000)
                self.socket, _ = server.accept()
        else:
            self.socket = self._connected(host, int(port), desc)
        self.socket.settimeout(desc.recv_timeout_ms / 1000)

    @staticmethod
    def _connected(host, port, desc):
        for _ in range(desc.connect_retry_times):
            try:
                return socket.create_connection((host, port), 5)
            except OSError:
                time.sleep(desc.connect_retry_interval_ms / 1000)
        raise RuntimeError("nobody there")

    def send_async(self, rank, text):
        self.socket.sendall(struct.pack(">Q", len(text)) + text.encode())

    def recv(self, rank):
        return self._exactly(struct.unpack(">Q", self._exactly(8))[0])

    def _exactly(self, size):
        got = b""
        while len(got) < size:
            part = self.socket.recv(size - len(got))
            if not part:
                raise RuntimeError("the other side is gone")
            got += part
        return got


def psi_execute(asked, link):
    mode = MODE if link.rank == RANK else "well"
    misbehave(mode)
    print("customer-000026@bank.example", flush=True)  # whatever a library prints must go nowhere
    rows = Path(asked.input_params.path).read_text().splitlines()[1:]
    if asked.protocol_conf.receiver_rank != link.rank:
        link.send_async(1 - link.rank, "\n".join(row.split(",")[0] for row in rows))
        return
    theirs = set(link.recv(1 - link.rank).decode().split("\n"))
    found = [row for row in rows if row.split(",")[0] in theirs]
    if mode == "forgets" and found:
        found.pop()
    if mode == "invents":
        found.append(f"{'0' * 32},{len(rows) + 5}")
    Path(asked.output_params.path).write_text("\n".join(['"digest","place"', *found, ""]))


def misbehave(mode):
    if mode == "dies":
        os.kill(os.getpid(), 9)
    if mode == "sleeps":
        time.sleep(600)
    if mode == "fails":
        raise RuntimeError("customer-000026@bank.example is to blame")


MODE = sys.argv[1] if len(sys.argv) > 1 else "well"
RANK = int(sys.argv[2]) if __name__ == "__main__" and len(sys.argv) > 2 else 0
if __name__ == "__main__":
    at_once = {
        "garbage": lambda: os.write(1, b"Welcome to this Python!\n" * 10),
        "no object": lambda: os.write(1, struct.pack(">QQ", 2, 0) + b"[]"),
        "no JSON": lambda: os.write(1, struct.pack(">QQ", 5, 0) + b"{oops"),
        "other hello": lambda: os.write(1, struct.pack(">QQ", 11, 0) + b'{"ok":true}'),
        "half a frame": lambda: os.write(1, struct.pack(">QQ", 50, 0) + b"{"),
        "ends": lambda: os._exit(3),
        "deaf": lambda: time.sleep(600),
    }
    if MODE in at_once:
        at_once[MODE]()
        sys.exit(0)
    made = types.ModuleType("spu")
    made.__version__ = "stand-in"
    made.link = types.SimpleNamespace(Desc=Desc, create_brpc=Link)
    config = dict.fromkeys(("PsiExecuteConfig", "PsiProtocolConfig", "InputParams", "OutputParams"), Options)
    made.psi = types.SimpleNamespace(PsiProtocol=Options(PROTOCOL_RR22=3), psi_execute=psi_execute, **config)
    if MODE != "no spu":
        sys.modules["spu"] = made
    runpy.run_path(str(from_repository), run_name="__main__")

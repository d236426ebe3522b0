"""What the Python of spu runs: one end of one meeting. It knows nothing of privee, and is run as a file.

Spoken over its standard input and output, in frames: two lengths (8 bytes each, big-endian), a JSON object, bytes.
First it says hello; then every command gets one answer:

    link        connect to the other party's worker, by TLS with pinned certificates
    swap        send bytes to the other worker and get its own
    intersect   RR22 on digests of ids (16 bytes each); the party of rank `receiver` gets the places of its common ones

Ids never come here, only digests under a key that two parties share for one meeting. Whatever spu or its libraries
print goes to a file in a private folder that is removed at the end; of an error only its kind is told.
"""

from __future__ import annotations

import json
import os
import re
import struct
import sys
import tempfile
from array import array
from pathlib import Path
from typing import Any, BinaryIO

HELLO = "privee-spu-1"
LENGTHS = struct.Struct(">QQ")
DIGEST = 16
LOG = "printed.txt"


def read_frame(source: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """The next command; None at the end."""
    head = source.read(LENGTHS.size)
    if len(head) < LENGTHS.size:
        return None
    words, body = LENGTHS.unpack(head)
    return json.loads(source.read(words)), source.read(body)


class Worker:
    """Holds the link to the other worker and a private folder for the files that spu works on."""

    def __init__(self, out: BinaryIO, folder: Path) -> None:
        self._out, self._folder = out, folder
        self._link: Any = None
        self._rank = 0

    def say(self, words: dict[str, Any], body: bytes = b"") -> None:
        """Write one frame."""
        text = json.dumps(words).encode()
        self._out.write(LENGTHS.pack(len(text), len(body)) + text + body)
        self._out.flush()

    def link(self, words: dict[str, Any], body: bytes) -> bytes:
        """Listen at one's own address and meet the other worker at its own."""
        from spu import link  # type: ignore[import-not-found, unused-ignore]

        asked = link.Desc()
        asked.recv_timeout_ms = int(words["seconds"] * 1000)
        asked.connect_retry_interval_ms = 200
        asked.connect_retry_times = max(1, int(words["connect_seconds"] * 1000 / asked.connect_retry_interval_ms))
        asked.enable_ssl = True
        for end in (asked.client_ssl_opts, asked.server_ssl_opts):
            end.cert.certificate_path, end.cert.private_key_path = words["certificate"], words["key"]
            end.verify.ca_file_path, end.verify.verify_depth = words["peer"], 1
        for rank, address in enumerate(words["addresses"]):
            asked.add_party(f"party-{rank}", address)
        self._rank = words["rank"]
        self._link = link.create_brpc(asked, self._rank)
        return b""

    def swap(self, words: dict[str, Any], body: bytes) -> bytes:
        """What the other worker was given, in exchange for this."""
        self._link.send_async(1 - self._rank, body.hex())
        return bytes.fromhex(self._link.recv(1 - self._rank).decode())

    def intersect(self, words: dict[str, Any], body: bytes) -> bytes:
        """Places of the common digests, as 8-byte numbers, at the receiver; nothing at the other."""
        from spu import psi  # type: ignore[import-not-found, unused-ignore]

        given, found = self._folder / "given.csv", self._folder / "found.csv"
        _write(given, body)
        asked = psi.PsiExecuteConfig(
            protocol_conf=psi.PsiProtocolConfig(
                protocol=psi.PsiProtocol.PROTOCOL_RR22, receiver_rank=words["receiver"], broadcast_result=False
            ),
            input_params=psi.InputParams(path=str(given), selected_keys=["digest"], keys_unique=True),
            output_params=psi.OutputParams(path=str(found), disable_alignment=True),
        )
        try:
            psi.psi_execute(
                asked, self._link
            )  # its progress hook is not used: with it, a million ids did not come to an end
            return _places(found) if words["receiver"] == self._rank else b""
        finally:
            for path in self._folder.glob("*.csv*"):
                path.unlink()
            self._remove_traces()

    def _remove_traces(self) -> None:
        """A trace of the run's steps, which spu always writes to /tmp; its log says where."""
        text = (self._folder / LOG).read_text(encoding="utf-8", errors="replace")
        for trace in re.findall(r"Trace has been written to (/\S+\.trace)", text):
            Path(trace).unlink(missing_ok=True)


def _write(path: Path, digests: bytes) -> None:
    text, width = digests.hex(), 2 * DIGEST
    with path.open("w", encoding="ascii") as file:
        file.write("digest,place\n")
        file.writelines(f"{text[i * width : (i + 1) * width]},{i}\n" for i in range(len(digests) // DIGEST))


def _places(path: Path) -> bytes:
    if not path.exists():  # nothing in common
        return b""
    with path.open(encoding="ascii") as file:
        next(file, None)
        places = array("q", (int(line.rpartition(",")[2].strip().strip('"')) for line in file))
    if sys.byteorder == "little":
        places.byteswap()
    return places.tobytes()


def serve(source: BinaryIO, out: BinaryIO, folder: Path) -> None:
    """Answer commands until there are no more."""
    worker = Worker(out, folder)
    try:
        import spu
    except Exception as error:
        worker.say({"ok": False, "stage": "import", "kind": type(error).__name__})
        return
    worker.say({"ok": True, "hello": HELLO, "spu": str(spu.__version__)})
    while (frame := read_frame(source)) is not None:
        words, body = frame
        try:
            answer = {"link": worker.link, "swap": worker.swap, "intersect": worker.intersect}[words["do"]](words, body)
        except Exception as error:
            worker.say({"ok": False, "stage": str(words.get("do")), "kind": type(error).__name__})
        else:
            worker.say({"ok": True}, answer)


def main() -> None:
    """Keep standard output for frames; everything else that is printed goes to a file of its own."""
    os.umask(0o077)
    out = os.fdopen(os.dup(1), "wb")
    with tempfile.TemporaryDirectory(prefix="privee-spu-") as folder:
        log = os.open(Path(folder) / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ["TMPDIR"] = folder
        os.chdir(folder)
        serve(sys.stdin.buffer, out, Path(folder))
    out.flush()
    os._exit(0)  # threads of the link would keep it waiting


if __name__ == "__main__":
    main()

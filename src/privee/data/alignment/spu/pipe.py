"""Our end of the pipes to a worker: frames with time limits, and one clear line whatever happens to it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from privee.data.alignment.spu import worker
from privee.errors import PriveeError, SettingError, UnavailableError

VARIABLE = "PRIVEE_SPU_PYTHON"
HOW = "python -m venv ENV, ENV/bin/pip install spu==0.9.5, then PRIVEE_SPU_PYTHON=ENV/bin/python (docs/alignment.md)"
HELLO_SECONDS = 120.0  # to import spu, on a busy machine
MOST_WORDS, MOST_BYTES = 1 << 16, 1 << 33
BLOCK = 1 << 20
BEAT_SECONDS = 1.0
LENGTHS = struct.Struct(">QQ")


def spu_command() -> list[str]:
    """How the worker is started, or a line that says what is missing."""
    python = os.environ.get(VARIABLE, "")
    if not python:
        raise SettingError(f"the engine spu needs a Python of its own, which {VARIABLE} names: {HOW}")
    if not (os.path.isfile(python) and os.access(python, os.X_OK)):
        raise SettingError(f"{VARIABLE} names {python!r}, which is no program: {HOW}")
    return [python, "-I", worker.__file__]


class SpuWorker:
    """A worker process that we started; it ends with the `with` block, whatever happened."""

    def __init__(self, command: Sequence[str] | None = None, hello_seconds: float = HELLO_SECONDS) -> None:
        chosen = spu_command() if command is None else list(command)
        self._folder = Path(tempfile.mkdtemp(prefix="privee-spu-"))  # its temporary files, gone even if it is killed
        try:
            self._process = subprocess.Popen(  # noqa: S603 (a program that the user named)
                chosen,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # what libraries print may hold anything
                env=os.environ | {"TMPDIR": str(self._folder)},
                start_new_session=True,
            )
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise SettingError(f"the worker of spu cannot be started: {error.strerror}; see {VARIABLE}") from None
        pipes = [pipe for pipe in (self._process.stdin, self._process.stdout) if pipe]  # both are: they were asked for
        self._in, self._out = pipes
        for pipe in pipes:
            os.set_blocking(pipe.fileno(), False)
        self._alive: Callable[[], None] = lambda: None
        try:
            words, _ = self._answer(time.monotonic() + hello_seconds)
            if words.get("hello") != worker.HELLO:
                raise UnavailableError(f"what {VARIABLE} starts is no worker of this version of privee")
        except BaseException:
            self.close()
            raise

    def ask(
        self,
        do: str,
        body: bytes = b"",
        *,
        seconds: float,
        words: Mapping[str, object] | None = None,
        alive: Callable[[], None] = lambda: None,
    ) -> bytes:
        """Give one command and wait for its answer, no longer than this; `alive` is called now and then meanwhile."""
        self._alive = alive
        end = time.monotonic() + seconds
        text = json.dumps({"do": do, "seconds": seconds} | dict(words or {})).encode()
        try:
            self._write(memoryview(LENGTHS.pack(len(text), len(body)) + text + body), end)
            return self._answer(end)[1]
        except PriveeError:
            raise
        except (ValueError, OSError):  # its pipes were closed meanwhile: another worker failed, and all were ended
            raise self._ended() from None

    def close(self) -> None:
        """End it and what it started, and remove its files."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        self._process.wait()
        for pipe in (self._in, self._out):
            with contextlib.suppress(OSError):
                pipe.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(self, end: float) -> tuple[dict[str, Any], bytes]:
        sizes = LENGTHS.unpack(self._read(LENGTHS.size, end))
        if sizes[0] > MOST_WORDS or sizes[1] > MOST_BYTES:
            raise _garbled()
        words, body = _object(self._read(sizes[0], end)), self._read(sizes[1], end)
        if words.get("ok") is not True:
            raise _failed(str(words.get("stage", "")), str(words.get("kind", "")))
        return words, body

    def _read(self, size: int, end: float) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            self._wait_for(end, reading=True)
            part = os.read(self._out.fileno(), min(BLOCK, size - len(parts)))
            if not part:
                raise self._ended()
            parts += part
        return bytes(parts)

    def _write(self, data: memoryview, end: float) -> None:
        while data:
            self._wait_for(end, reading=False)
            try:
                written = os.write(self._in.fileno(), data[:BLOCK])
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise self._ended() from None
            data = data[written:]

    def _wait_for(self, end: float, *, reading: bool) -> None:
        pipe = self._out if reading else self._in
        while (left := end - time.monotonic()) > 0:
            if any(select.select([pipe] if reading else [], [] if reading else [pipe], [], min(left, BEAT_SECONDS))):
                return
            self._alive()
        raise UnavailableError("the worker of spu gave no answer in time; is the other party there, and as fast?")

    def _ended(self) -> PriveeError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        code = self._process.poll()
        return UnavailableError(f"the worker of spu ended unexpectedly (exit code {code}); see {VARIABLE}: {HOW}")


def _object(text: bytes) -> dict[str, Any]:
    try:
        words = json.loads(text)
    except ValueError:
        raise _garbled() from None
    if not isinstance(words, dict):
        raise _garbled()
    return words


def _garbled() -> PriveeError:
    return UnavailableError(f"what {VARIABLE} starts does not speak as a worker of spu does: {HOW}")


def _failed(stage: str, kind: str) -> PriveeError:
    kind = kind if kind.isidentifier() else "an error"
    if stage == "import":
        return SettingError(f"the Python that {VARIABLE} names cannot import spu ({kind}): {HOW}")
    told = {
        "link": "the other party's worker was not met: are addresses and certificates right, and does it run?",
        "swap": "the other party's worker was lost",
        "intersect": "the intersection broke off: was the other party's worker lost?",
    }
    return UnavailableError(f"spu: {told.get(stage, 'something failed')} ({kind})")

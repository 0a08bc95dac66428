"""Another process that loads versions back from the registry and scores their examples.

What this process holds in memory proves nothing about what lies in the registry; a fresh
interpreter asks there as anybody would. It takes seconds to start, so one serves for all versions
of a night. It reads orders, one a line, answers each with a line, and ends when nobody is left.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tasks.messages import message
from tasks.objects import no_room_apart
from tasks.registry.mlflow_client import RegistryError, RegistryUnreachable, load
from tasks.registry.publication import Version
from urlr.errors import UrlrError
from urlr.sentence import Sentence, made

DEADLINE = 120.0
"""Seconds that one version may take, the start of the process included."""
FAREWELL = 10.0
"""Seconds that its end may take."""
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class _Helper:
    """The other process, the line to it, and what it says on its standard error."""

    process: subprocess.Popen[bytes]
    line: socket.socket
    said: IO[bytes]

    @classmethod
    def started(cls) -> _Helper:
        ours, theirs = socket.socketpair()
        paths = [path or str(Path.cwd()) for path in sys.path]
        given = dict.fromkeys(_THREADS, "1") | {"PYTHONPATH": os.pathsep.join(paths)}
        try:
            said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the helper
        except OSError as error:
            raise RegistryError(no_room_apart(error)) from None
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "tasks.registry"],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=said,
                env=os.environ | given,
            )
        return cls(process, ours, said)

    def answer(self, order: bytes, seconds: float) -> bytes:
        """Its answer to an order, empty if it died; TimeoutError if there is none in time."""
        end = time.monotonic() + seconds
        answer = b""
        try:
            self.line.settimeout(seconds)
            self.line.sendall(order + b"\n")
            while not answer.endswith(b"\n"):
                self.line.settimeout(max(end - time.monotonic(), 0.001))
                piece = self.line.recv(65536)
                if not piece:
                    return b""
                answer += piece
        except (BrokenPipeError, ConnectionResetError):
            return b""
        return answer

    def last_words(self) -> str:
        """The last line it said."""
        self.said.seek(0)
        lines = self.said.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else message("process_said_nothing")

    def end(self) -> None:
        """End it at once; it only reads and has nothing to save."""
        self.line.close()
        self.process.kill()
        with suppress(subprocess.TimeoutExpired):  # it may wait for a disk that is away
            self.process.wait(FAREWELL)
        self.said.close()


class Verifier:
    """Verifies versions in a process of its own, which ends with the `with` block."""

    def __init__(self, uri: str, artifacts: str | None, *, deadline: float = DEADLINE) -> None:
        self._registry = {"uri": uri, "artifacts": artifacts}
        self._deadline = deadline
        self._helper: _Helper | None = None
        self._one_at_a_time = threading.Lock()

    def __enter__(self) -> Verifier:
        self._helper = _Helper.started()  # gets ready while the first version is being made
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def verify(self, version: Version, *, exact: bool = True) -> None:
        """Verify one version; `exact`: its scores must agree to the last bit.

        Raises
        ------
        RegistryError
            A file is missing or changed, the model cannot be loaded, scores differ, or the process
            died.
        RegistryUnreachable
            There was no answer in time.
        """
        order = self._registry | {
            "attribute": version.attribute,
            "number": version.number,
            "digest": version.digest,
            "exact": exact,
        }
        with self._one_at_a_time:
            problem = self._problem(json.dumps(order).encode(), version.shown)
        if problem is not None:
            raise RegistryError(problem)

    def _problem(self, order: bytes, what: str) -> Sentence | None:
        if self._helper is None:
            self._helper = _Helper.started()
        try:
            answer = self._helper.answer(order, self._deadline)
        except TimeoutError:
            failure: RegistryError = RegistryUnreachable(
                message("verifying_took_too_long", version=what, seconds=self._deadline)
            )
        else:
            if answer:
                problem = json.loads(answer)
                return None if problem is None else made(**problem)
            failure = RegistryError(
                message(
                    "verifying_process_died", version=what, last_words=self._helper.last_words()
                )
            )
        self._end()  # the next version gets a new one
        raise failure

    def _end(self) -> None:
        if self._helper is not None:
            self._helper.end()
            self._helper = None


def main() -> None:
    """Answer orders until the other side is gone."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed goes where nobody takes it for an answer
    from tasks.registry import Registry

    load()
    for line in sys.stdin.buffer:
        order = json.loads(line)
        problem = None
        try:
            Registry(order["uri"], order["artifacts"]).prove(
                order["attribute"], order["number"], order["digest"], exact=order["exact"]
            )
        except UrlrError as error:
            problem = {"text": error.sentence, "code": error.code, "fields": error.fields}
        answers.write(json.dumps(problem, default=str).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()

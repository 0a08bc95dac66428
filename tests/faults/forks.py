"""A process that has loaded what takes seconds to load, and does each piece of work in a fork.

Nothing of one piece of work is there for the next, and one that is killed takes nothing with it.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

from pipeline import PATIENCE

_LOOP = """
import json, os, sys, traceback

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what libraries print is no answer
for line in sys.stdin:
    child = os.fork()
    if child:
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if not ended:
            continue
        said = {"ended": ended}
    else:
        try:
            said = {"done": work(**json.loads(line))}
        except BaseException:
            said = {"wrong": traceback.format_exc()}
    answers.write(json.dumps(said) + chr(10))
    answers.flush()
    if not child:
        os._exit(0)
"""


@dataclass
class Forks:
    """Does `work(**given)` of a program that defines it, as often as asked."""

    program: str
    environment: dict[str, str]
    _process: subprocess.Popen[str] | None = None

    def ended(self, **given: Any) -> dict[str, Any]:
        """How a piece of work ended: {"done": what it gave}, or {"ended": its signal, negative}."""
        process = self._process = self._process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(given) + "\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        line = process.stdout.readline() if ready else ""
        if not line:
            process.kill()
            process.wait()
            self._process = None
            raise AssertionError(f"no answer:\n{self._written()}")
        said: dict[str, Any] = json.loads(line)
        assert "wrong" not in said, said["wrong"]
        return said

    def _started(self) -> subprocess.Popen[str]:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - of the whole run
        process = subprocess.Popen(
            [sys.executable, "-c", self.program + _LOOP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            env=os.environ | self.environment,
        )
        atexit.register(process.communicate)
        return process

    def _written(self) -> str:
        """The end of what it wrote on stderr."""
        self._stderr.seek(0)
        return self._stderr.read().decode(errors="replace")[-2000:]

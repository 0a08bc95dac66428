"""Processes that end with this one, however it ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

_WATCH = """
import os, signal, sys, time
if not sys.stdin.buffer.read():  # else it was released
    for number in (signal.SIGTERM, signal.SIGKILL):
        end = time.monotonic() + float(sys.argv[2])
        try:
            os.kill(int(sys.argv[1]), number)
            while time.monotonic() < end:
                time.sleep(0.1)
                os.kill(int(sys.argv[1]), 0)
        except ProcessLookupError:
            break
"""
GRACE = 20.0
"""Seconds that a process has to end by itself."""


class Tie:
    """Ends a process that this one started, should this one end without `release`.

    Whoever is killed by SIGKILL ends nothing that it started. A small process holds the other end
    of a pipe, which the system closes with us.
    """

    def __init__(self, process: subprocess.Popen[Any]) -> None:
        try:
            self._watcher = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _WATCH, str(process.pid), str(GRACE)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is meant for us
            )
        except BaseException:
            process.kill()
            process.wait()
            raise

    def release(self) -> None:
        """Leave the process alone from now on, as it has ended."""
        if self._watcher.returncode is None:
            self._watcher.communicate(b"released")


def end_with_parent() -> None:
    """End this process soon after the one that made it to run a flow, if one did.

    `urlr serve` has its nights in processes of their own; one whose server is gone would go on.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)  # so that the store is given back
        time.sleep(GRACE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

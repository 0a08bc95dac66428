"""Faults for whole runs: a process that has this directory on its path does wrong where it is told.

`FAULTS` holds a JSON list of faults; the functions they name are wrapped as their modules are
imported, in the flow's process and in workers alike, so that the product needs no hooks.
"""

import contextlib
import fnmatch
import functools
import importlib.abc
import importlib.machinery
import json
import os
import signal
import sys
import time
from pathlib import Path

LONGEST = 900.0
"""Seconds that a hang lasts if nobody ends it."""


PAUSE = 10.0
"""Seconds that work is held up, for something to happen meanwhile."""
FILLER = "filler"
"""The directory that takes all room on a disk."""
FILES = 2_000
"""Files that take the last room for files, where there is little."""


def strikes(fault, given):
    """Whether a call is about the fault's attribute, and the fault has not struck often enough."""
    about = fault["attribute"]
    named = [name for name in map(attribute_of, given) if name is not None]
    if about is not None and not any(fnmatch.fnmatchcase(name, about) for name in named):
        return False
    marks = Path(fault["marks"])
    marks.mkdir(parents=True, exist_ok=True)
    for number in range(fault["times"] or 1_000):
        try:
            with (marks / str(number)).open("x") as mark:
                mark.write(f"{os.getpid()}\n")
        except FileExistsError:
            continue
        return True
    return False


def attribute_of(given):
    """The attribute that an argument is, or is about; of a text, the text itself."""
    given = getattr(given, "inputs", given)
    found = getattr(given, "attribute", given)
    return found if isinstance(found, str) else None


def strike(kind):
    """Do what is wrong; `note` only leaves the mark."""
    if kind.startswith("fill "):
        fill(Path(kind.removeprefix("fill ")))
        return
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "kill the flow":  # which started this worker
        os.kill(os.getppid(), signal.SIGKILL)
    if kind == "freeze":
        os.kill(os.getpid(), signal.SIGSTOP)
        return
    if kind == "raise":
        raise RuntimeError("planted: the matrix is\nsingular")
    if kind == "note":
        return
    if kind == "pause":
        time.sleep(PAUSE)
        return
    held = []
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        if kind == "memory":
            held.append(bytearray(os.urandom(1 << 20) * 32))
        time.sleep(0.02)


def fill(disk):
    """Leave no byte of room on a disk, nor room for a file on a small one."""
    (disk / FILLER).mkdir()
    size = 1 << 20
    with (disk / FILLER / "bytes").open("xb", buffering=0) as file:
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2
    with contextlib.suppress(OSError):
        for number in range(FILES):
            (disk / FILLER / str(number)).touch()


def wrapped(function, fault):
    """The function, with the fault before or after it."""

    @functools.wraps(function)
    def call(*given, **named):
        if fault["when"] == "after":
            answer = function(*given, **named)
        if strikes(fault, (*given, *named.values())):
            strike(fault["do"])
        return answer if fault["when"] == "after" else function(*given, **named)

    return call


def plant(fault, module):
    """Put a fault into its module."""
    *above, last = fault["function"].partition(":")[2].split(".")
    holder = functools.reduce(getattr, above, module)
    setattr(holder, last, wrapped(getattr(holder, last), fault))


class Planter(importlib.abc.MetaPathFinder):
    """Wraps functions of the modules that faults name."""

    def __init__(self, faults):
        self.faults = faults

    def find_spec(self, name, path=None, target=None):
        """The usual spec; running the module also plants its faults."""
        planted = [fault for fault in self.faults if fault["function"].partition(":")[0] == name]
        spec = importlib.machinery.PathFinder.find_spec(name, path) if planted else None
        if spec is None:
            return None
        run = spec.loader.exec_module

        def run_and_plant(module):
            run(module)
            for fault in planted:
                plant(fault, module)

        spec.loader.exec_module = run_and_plant
        return spec


if "FAULTS" in os.environ:
    sys.meta_path.insert(0, Planter(json.loads(os.environ["FAULTS"])))

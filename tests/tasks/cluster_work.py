"""Work for the tests of the fan-out: plain functions that a worker process can import."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

from urlr.errors import UrlrError, VoteError
from urlr.sentence import Sentence, made

PATIENCE = 60.0


class TwoPartsError(UrlrError):
    """Can be pickled, but not read again."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(made(f"{what} in {where}", "two_parts", {}))


def process_id(_: object) -> int:
    return os.getpid()


def signals_held_back(_: object) -> int:
    """Bits of the signals that the main thread of this process does not hear."""
    [line] = [one for one in Path("/proc/self/status").read_text().splitlines() if "SigBlk" in one]
    return int(line.split()[1], 16)


def negative(number: int) -> int:
    return -number


def refuse(sentence: Sentence) -> None:
    raise VoteError(sentence)


def divide(by: int) -> float:
    return 1 / by


def raise_in_two_parts(_: object) -> None:
    raise TwoPartsError("3 votes", "smiling")


def raise_over_two_lines(_: object) -> None:
    raise RuntimeError("first line\nsecond line")


def leave(_: object) -> None:
    sys.exit(3)


def unsendable(_: object) -> object:
    return threading.Lock()


def die(_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(marker: Path) -> str:
    """Die the first time, when there is no marker yet."""
    if not marker.exists():
        marker.touch()
        die(None)
    return "survived"


def note_and_die(marker: Path) -> None:
    """Say who dies in a file beside the marker, and die."""
    with marker.with_suffix(".started").open("a") as started:
        started.write(f"{os.getpid()}\n")
    die(None)


def hang_until(marker: Path) -> int:
    """Say who hangs in a file beside the marker, and wait for the marker."""
    with marker.with_suffix(".started").open("a") as started:
        started.write(f"{os.getpid()}\n")
    end = time.monotonic() + PATIENCE
    while not marker.exists():
        if time.monotonic() > end:
            raise TimeoutError(f"nobody made {marker}")
        time.sleep(0.02)
    return os.getpid()


def devour(most: int) -> int:
    """Hold more and more memory, up to `most` MiB; then wait for the end."""
    held = []
    for _ in range(most // 50):
        held.append(np.ones(50 * 2**17))
        time.sleep(0.02)
    time.sleep(PATIENCE)
    return len(held)


def environment(_: object) -> dict[str, str]:
    return dict(os.environ)


def loaded(module: str) -> bool:
    return module in sys.modules


def blas_threads(_: object) -> set[int]:
    from threadpoolctl import threadpool_info

    return {pool["num_threads"] for pool in threadpool_info()}

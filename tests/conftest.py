"""Shared by all tests: where the reference data lies, and helpers that tests import."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# As in workers, and before numpy is loaded: test processes share the cores there are.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background by a shell: programs started here would not know Ctrl-C either.
    signal.signal(signal.SIGINT, signal.default_int_handler)

for room in ("urlr", "tasks", "flows", "browser", "deploy", "faults", "."):
    sys.path.insert(0, str(Path(__file__).parent / room))

pytest_plugins = [
    "tiers",
    "promises",
    "servers",
    "storage",
    "clusters",
    "registries",
    "pipeline",
    "in_process",
    "commands",
]

# No clock: test processes share the cores there are. The same examples each time, so that luck does
# not decide what lands; `make soak` draws others.
drawn = os.environ.get("RANDOM_EXAMPLES") == "1"
settings.register_profile("tests", settings.default, deadline=None, derandomize=not drawn)
settings.load_profile("tests")

REFERENCE_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def reference_data():
    """Real votes beside the repository; a plain clone does without."""
    if not REFERENCE_DATA.is_dir():
        pytest.skip("the reference data is not beside this clone")
    return REFERENCE_DATA

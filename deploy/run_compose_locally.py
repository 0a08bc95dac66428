"""Run what compose.yaml says as plain processes of this machine, and one night on them.

    python deploy/run_compose_locally.py            a night on a small store, then end everything
    python deploy/run_compose_locally.py --stay     the same, but stay up until Ctrl-C

For machines without containers, and for tests: commands, environments, health checks and conditions
are those of the file, on loopback, with PostgreSQL, SeaweedFS, Prefect, MLflow and Dask as they are
installed here. Images, networks and limits are not tried. Services that the night does not need and
whose program is not here are named and left out.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from compose_services import ComposeError, processes_of, values_of
from local_services import ROOT, Services

HERE = Path(__file__).resolve().parent
NEEDED = ("flow-worker", "deployments")
"""Services that a night needs, with all that these depend on."""
_DEADLINE = 300.0
_DELIVER = """
import sys
from small_stores import write_small_store
from tasks.store import Store
write_small_store(Store.at(sys.argv[1]))
"""


@contextmanager
def started(values: Mapping[str, str]) -> Iterator[Services]:
    """The services of compose.yaml while the block runs; nothing of them is left after it."""
    place = Path(tempfile.mkdtemp(prefix="urlr-compose-"))
    place.chmod(0o711)  # PostgreSQL goes through it as another user
    services = None
    try:
        found = processes_of(HERE / "compose.yaml", values, volumes=place / "volumes")
        services = Services(found, place, needed=NEEDED)
        for name, why in services.left_out.items():
            print(f"  {name}: not run, {why}")
        services.start_all()
        yield services
    finally:
        if services is not None:
            services.end_all()
            print(f"ended {len(services.running)} processes", flush=True)
        shutil.rmtree(place, ignore_errors=True)


def run_night(services: Services, values: Mapping[str, str]) -> None:
    """Deliver votes as the vote writer, then have the work pool run the nightly deployment."""
    flow = services.environment_of("flow-worker")
    writer = flow | {
        "AWS_ACCESS_KEY_ID": values["VOTE_WRITER_KEY_ID"],
        "AWS_SECRET_ACCESS_KEY": values["VOTE_WRITER_SECRET"],
        "PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'flows'}",
    }
    _run([sys.executable, "-c", _DELIVER, flow["URLR_STORE"]], writer)
    print("delivered the votes; the night is run by the work pool", flush=True)
    began = time.monotonic()
    try:
        _run(["prefect", "deployment", "run", "nightly/nightly", "--watch"], flow)
    except ComposeError as error:
        said = services.said_by("flow-worker")
        raise ComposeError(f"{error}\nflow-worker said:\n{said}") from None
    print(f"the night took {time.monotonic() - began:.0f} s", flush=True)
    print(_run([sys.executable, "-m", "flows.cli", "status"], flow).rstrip())


def champions(services: Services) -> dict[str, str]:
    """Version of each champion, as MLflow's own API says."""
    address = services.environment_of("flow-worker")["URLR_REGISTRY"]
    asked = f"{address}/api/2.0/mlflow/registered-models/search?max_results=100"
    with urllib.request.urlopen(asked, timeout=30) as answer:
        models = json.load(answer).get("registered_models", [])
    return {
        model["name"]: alias["version"]
        for model in models
        for alias in model.get("aliases", [])
        if alias["alias"] == "champion"
    }


def _run(words: Sequence[str], environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        words,
        env=environment,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_DEADLINE,
        check=False,
    )
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[-3000:]
        raise ComposeError(f"`{' '.join(words[:4])}` ended with code {done.returncode}:\n{said}")
    return done.stdout


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def main(arguments: Sequence[str]) -> int:
    """Start, run a night, show what is champion, and end."""
    parser = argparse.ArgumentParser(description="compose.yaml as plain processes, and a night.")
    parser.add_argument("--stay", action="store_true", help="stay up until Ctrl-C")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _stop)
    values = values_of(HERE / ".env.example")
    try:
        with started(values) as services:
            run_night(services, values)
            for name, version in sorted(champions(services).items()):
                print(f"champion of {name}: version {version}")
            if given.stay:
                flow = services.environment_of("flow-worker")
                print(f"Prefect {flow['PREFECT_API_URL']}; MLflow {flow['URLR_REGISTRY']}")
                print("up until Ctrl-C", flush=True)
                signal.pause()
    except ComposeError as error:
        print(f"run_compose_locally: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A password in an address: the command refuses it or does not show it, and nothing keeps it."""

import subprocess
from dataclasses import dataclass

import pytest
from in_process import Bench
from pipeline import Place, PrefectApi, at_once
from registries import MLFLOW_WARNS
from storage import free_ports

from tasks.messages import message

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

PASSWORD = "hunter22-in-the-address"
ADDRESS = f"s3://somebody:{PASSWORD}@bucket/team"
REFUSED = message("address_with_password")
HERE = ("nightly, by its variable", "status", "registry")
"""Done in this process; of the others Prefect's server would know if they got so far."""


@dataclass(frozen=True)
class Tried:
    place: Place
    done: dict[str, "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def tried(new_place, prefect_api: PrefectApi) -> Tried:
    """Every way in which somebody may give one."""
    place: Place = new_place()
    away = f"127.0.0.1:{free_ports(1)[0]}"
    place.store.create("votes/a/1.csv", b"winner,loser\na,b\n")
    here = prefect_api.address.replace("://", f"://somebody:{PASSWORD}@")
    ways = {
        "nightly": (["nightly", "--store", ADDRESS], {}),
        "nightly, by its variable": (["nightly"], {"URLR_STORE": ADDRESS}),
        "serve": (["serve", "--store", ADDRESS], {}),
        "status": (["status", "--store", ADDRESS], {}),
        "score": (["score", f"{ADDRESS}/features.parquet", "--out", "scores.parquet"], {}),
        "score into": (["score", "features.parquet", "--out", f"{ADDRESS}/scores.parquet"], {}),
        "Prefect away": (
            ["nightly"],
            {"PREFECT_API_URL": f"http://somebody:{PASSWORD}@{away}/api"},
        ),
        "Prefect": (
            ["nightly", "--store", place.store.url, "--only", "unknown"],
            {"PREFECT_API_URL": here},
        ),
        "registry": (
            ["nightly"],
            {"MLFLOW_TRACKING_URI": f"http://somebody:{PASSWORD}@{away}"},
        ),
    }
    apart = {name: way for name, way in ways.items() if name not in HERE}
    jobs = [lambda way=way: place.urlr(*way[0], **way[1]) for way in apart.values()]
    done = dict(zip(apart, at_once(jobs), strict=True))
    here = Bench(place.directory, place.store, place.environment)
    for name in HERE:
        words, settings = ways[name]
        done[name] = here.urlr(*words, **settings)
    return Tried(place, done)


@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("nightly", REFUSED),
        ("nightly, by its variable", REFUSED),
        ("serve", REFUSED),
        ("status", REFUSED),
        ("score", REFUSED),
        ("score into", REFUSED),
        ("Prefect away", "Prefect's API at http://***@127.0.0.1:"),
        ("Prefect", "unknown"),
        ("registry", message("registry_address_too_long")),
    ],
)
def test_a_password_in_an_address_is_not_shown(tried, way, why):
    done = tried.done[way]
    assert (done.returncode, done.stdout) == (1, "")
    assert why in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert PASSWORD not in done.stderr


def test_a_password_in_an_address_is_kept_nowhere(tried, prefect_api: PrefectApi):
    kept = {"Prefect's server": prefect_api.written()}
    assert tried.place.store.url.encode() in kept["Prefect's server"]
    files = [path for path in tried.place.directory.parent.rglob("*") if path.is_file()]
    assert files
    kept |= {str(path): path.read_bytes() for path in files}
    assert [name for name, data in kept.items() if PASSWORD.encode() in data] == []

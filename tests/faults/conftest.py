"""Shared by the fault cases: nights apart from Prefect, and what two clean ones come to."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from judge import Bytes
from kills import clean_nights, new_site
from nights_apart import Here
from s3_proxy import FaultyS3, faulty
from sites import Site
from storage import S3Server

from tasks import bucket


@pytest.fixture(scope="session")
def run_here(dask_address: str, tables: Path, one_verifier: None) -> Callable[[Site], Site]:
    """Lets the further nights of a site be run in this process."""

    def make(site: Site) -> Site:
        site.command = Here.instead_of(site.command, dask_address)
        registry = site.command.work / "urlr-registry"
        if not registry.exists():
            registry.mkdir()
            shutil.copy(tables, registry)
        return site

    return make


@pytest.fixture(scope="session")
def two_clean_nights(
    tmp_path_factory: pytest.TempPathFactory, run_here: Callable[[Site], Site]
) -> Bytes:
    """Results on a local disk."""
    place = tmp_path_factory.mktemp("clean")
    return clean_nights(run_here(new_site(place, None)))


@pytest.fixture(scope="module")
def in_a_hurry(s3_server: S3Server) -> Iterator[None]:
    """This process knows the server, and waits shortly before it asks once more."""
    from botocore.retries.standard import ExponentialBackoff

    with pytest.MonkeyPatch.context() as patched:
        for name, value in s3_server.environment.items():
            patched.setenv(name, value)
        patched.setattr(ExponentialBackoff, "delay_amount", lambda *_: 0.05)
        patched.setattr(bucket, "_PAUSES", tuple(pause / 20 for pause in bucket._PAUSES))
        yield


@pytest.fixture(scope="module")
def proxy(s3_server: S3Server, in_a_hurry: None) -> Iterator[FaultyS3]:
    """Before the S3 server, which this process knows too."""
    with faulty(s3_server) as made:
        yield made

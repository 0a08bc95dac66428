"""A registry that is away for a moment costs an attribute an attempt, and no more."""

import shutil

import pytest
from registries import MLFLOW_WARNS, mlflow_server
from s3_proxy import Rule, faulty
from storage import S3Server, free_ports
from stored_votes import small

from flows.night import Asked
from flows.night_start import night_work
from tasks.registry import RegistryUnreachable
from tasks.settings import load_settings
from tasks.store import Store

pytestmark = [pytest.mark.full, MLFLOW_WARNS]


def test_an_attribute_is_tried_again_when_the_registry_was_away(
    tmp_path, tables, monkeypatch, dask_address, one_verifier
):
    shutil.copy(tables, tmp_path)
    small(Store.at(tmp_path / "store"))
    with mlflow_server(tmp_path, free_ports(1)[0]) as address, faulty(S3Server(address)) as between:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        monkeypatch.setenv("URLR_REGISTRY", between.front.endpoint)
        monkeypatch.setenv("URLR_DASK_ADDRESS", dask_address)
        monkeypatch.setenv("URLR_FIT__REPLICATES", "0")
        settings = load_settings(store="store")
        with night_work(settings, Asked(force=True), say=lambda _: None) as work:
            between.rules.append(Rule("close"))
            with pytest.raises(RegistryUnreachable) as away:
                work.work_on("smiling")
            assert work.may_try_again("smiling", away.value)
            assert work.entries == {}  # nothing is noted of an attempt that may be made again
            between.mend()
            entry = work.work_on("smiling")
            record = work.finish()
    assert (entry.outcome, entry.attempts, entry.version) == ("published", 2, 1)
    assert not entry.computed  # the fit of the first attempt was found
    assert record.state == "Completed"

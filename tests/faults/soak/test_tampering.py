"""Somebody who may write to the store puts a pickle in the place of what the gate compares with."""

import pickle
from pathlib import Path

import pytest
from cases import passed
from judge import Bytes, judge_again, judge_entry, judge_night
from kills import NEW, OLD, deliver_first, deliver_second, new_site
from pipeline import PrefectApi
from registries import MLFLOW_WARNS

from tasks.result_files import JUDGE

pytestmark = [pytest.mark.soak, MLFLOW_WARNS]


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_a_judge_that_is_a_pickle(
    tmp_path_factory, prefect_api: PrefectApi, two_clean_nights: Bytes
) -> None:
    place = tmp_path_factory.mktemp("tampering")
    trap = place / "executed"
    site = new_site(place / "site", prefect_api)
    try:
        deliver_first(site)
        assert site.night().code == 0
        night = site.record
        assert night is not None
        key = f"{night.entries[OLD].place}/{JUDGE}"
        judge = site.store.read(key)
        site.store.replace(key, pickle.dumps(Touch(trap)))
        deliver_second(site)
        done = site.night()
        night = judge_night(site, done, two_clean_nights, healthy=[NEW])
        gone = r"the judge of the champion, version 1, is gone, damaged or replaced"
        said = rf"{gone} \(.*{JUDGE}\); put it back"
        seen = judge_entry(night, done, OLD, outcome="held", said=said)
        assert night.entries[OLD].live == 1
        assert not trap.exists(), "it was executed"
        site.store.replace(key, judge)
        judge_again(site, site.night(), two_clean_nights)
    finally:
        site.command.close()
    passed("malicious models", "a night whose champion's judge is a pickle", seen)

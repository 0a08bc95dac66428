"""A store that fails in every way it can, each at one attribute.

The work of a worker, which talks to the real S3 server through a proxy that does wrong by method
and key; whole nights on such a store are in `test_bad_store_nights.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from bad_dumps import CSV, N_VOTES, VOTES, features, key_of
from cases import passed
from judge import Seen, plain
from registries import MLFLOW_WARNS
from s3_proxy import FaultyS3, Rule
from sites import result_digests
from stored_votes import order_of

from tasks.results import Trained
from tasks.store import Store
from tasks.train import train
from tasks.write import table_bytes
from urlr.errors import UrlrError

pytestmark = [pytest.mark.full, MLFLOW_WARNS]

CALL = 30
"""Seconds that a call to the store may take."""
SHORT = 3
"""The same where the store is silent."""
PUBLISHED = ("published", "first model")
CHANGED = ("failed", r"/1\.csv changed after it was listed; run it again")
OTHER = table_bytes(VOTES.head(200), "1.csv")
NAME = "smiling"
AGAIN = "20261102T020000Z-0a1b2c"


@dataclass(frozen=True)
class Case:
    """What the store does, and what must become of the attribute it does it to."""

    do: str
    outcome: str
    said: str
    method: str = "GET"
    what: str = "votes"
    """It does it to the dumps of the attribute, or to its results (`attributes`)."""
    file: str = "*"
    times: int | None = None
    status: int = 503
    after: int = 0
    """How many pass before; the first read of a dump is of its beginning, to count the rows."""

    @property
    def deadline(self) -> float:
        """Seconds that a call to the store may take; a write leaves some of them for looking."""
        return {"hang": SHORT, "swallow": 2 * SHORT}.get(self.do, CALL)

    def rule(self, attribute: str, put: Callable[[str, bytes], object], store: str = "") -> Rule:
        """As the proxy takes it; what is called replaces the dump."""
        return Rule(
            self.do,  # type: ignore[arg-type]
            key=f"*{store}*{self.what}/{attribute}/{self.file}",
            method=self.method,
            times=self.times,
            status=self.status,
            after=self.after,
            seconds=0.5,
            call=lambda: put(key_of(attribute, "1.csv"), OTHER),
        )


CASES: dict[str, Case] = {
    "a read is cut once": Case("cut", *PUBLISHED, times=1, after=1),
    "a read is always cut": Case(
        "cut", "failed", r"/1\.csv: cannot reach the store at .*; check AWS_ENDPOINT_URL"
    ),
    "a read is truncated once": Case("truncate", *PUBLISHED, times=1, after=1),
    "a read is always truncated": Case(
        "truncate", "failed", r"what came of .*/1\.csv is not what lies there .*; check the network"
    ),
    "a byte is flipped once": Case("flip", *PUBLISHED, times=1, after=1),
    "a byte is always flipped": Case(
        "flip", "failed", r"/1\.csv: the store at .* sent other bytes than it holds .*; check"
    ),
    "a burst of 503 on reads": Case("refuse", *PUBLISHED, times=2, after=1),
    "a burst of 500 on reads": Case("refuse", *PUBLISHED, times=2, status=500, after=1),
    "503 on every read": Case("refuse", "failed", r"the store failed at .*/1\.csv \(503 .*; try"),
    "403 on every read": Case(
        "refuse", "failed", r"access to .*/1\.csv was denied; check AWS_ACCESS_KEY_ID", status=403
    ),
    "slow reads": Case("delay", *PUBLISHED, times=2),
    "a read is never answered": Case(
        "hang",
        "failed",
        rf"/1\.csv: the store at .* did not answer within {SHORT} seconds; check the network",
    ),
    "a burst of 503 on writes": Case("refuse", *PUBLISHED, "PUT", "attributes", times=2),
    "a burst of 500 on writes": Case(
        "refuse", *PUBLISHED, "PUT", "attributes", times=2, status=500
    ),
    "a burst of 409 on writes": Case(
        "refuse", *PUBLISHED, "PUT", "attributes", times=2, status=409
    ),
    "409 on every write": Case(
        "refuse",
        "failed",
        r"will not create .* and shows nothing there; try",
        "PUT",
        "attributes",
        status=409,
    ),
    "503 on every write": Case(
        "refuse", "failed", r"the store failed at .* \(503 .*; try", "PUT", "attributes"
    ),
    "a write is never answered": Case(
        "hang", "failed", rf"did not answer within {SHORT} seconds; check", "PUT", "attributes"
    ),
    "the answer to a write is lost once": Case("lose", *PUBLISHED, "PUT", "attributes", times=1),
    "the answer to every write is lost": Case("lose", *PUBLISHED, "PUT", "attributes"),
    "a write is done and never answered": Case(
        "swallow", *PUBLISHED, "PUT", "attributes", "model.npz", times=1
    ),
    "a dump is replaced after it was listed": Case("call", *CHANGED, times=1),
    "a dump is replaced after its rows were counted": Case("call", *CHANGED, times=1, after=1),
}
ATTRIBUTES = {case: case.replace(" ", "-") for case in CASES}


@dataclass(frozen=True)
class Worker:
    """Does what a worker does for one attribute; each case has a store of its own."""

    bucket: str
    proxy: FaultyS3

    def store(self, name: str, case: Case | None = None) -> Store:
        """The store of a case, as it is called while that strikes."""
        deadline = CALL if case is None else case.deadline
        place = f"{self.bucket}/some/where/{ATTRIBUTES.get(name, name)}"
        return Store.at(f"s3://{place}", deadline=deadline)

    def trained(self, name: str, case: Case | None = None, **other: str) -> Trained:
        """What comes of votes and features that are delivered now, while the case strikes."""
        store = self.store(name, case)
        store.replace("features/all.csv", features())
        store.replace(key_of(NAME, "1.csv"), CSV)
        order = order_of(store, attribute=NAME, **other)
        with pytest.MonkeyPatch.context() as patched:
            if case is not None:
                patched.setenv("AWS_ENDPOINT_URL", self.proxy.front.endpoint)
                rule = case.rule(NAME, self.store(name).replace, f"/{ATTRIBUTES[name]}/")
                self.proxy.rules.append(rule)
            try:
                return train(order)
            finally:
                self.proxy.mend()


@pytest.fixture(scope="module")
def worker(new_bucket: Callable[[], str], proxy: FaultyS3) -> Worker:
    return Worker(new_bucket(), proxy)


@pytest.fixture(scope="module")
def unharmed(worker: Worker) -> dict[str, str]:
    """Digests of what comes of it when nothing strikes."""
    trained = worker.trained("unharmed")
    return result_digests(worker.store("unharmed"), trained.result.place)


@pytest.mark.parametrize("name", CASES)
def test_a_store_that_fails_is_judged(worker, proxy, unharmed, s3_server, name):
    case = CASES[name]
    proxy.log.clear()
    failure = None
    try:
        trained = worker.trained(name, case)
    except UrlrError as error:
        failure = error
    assert proxy.struck(case.do), "the fault never struck"
    store = worker.store(name)
    assert store.read(key_of(NAME, "1.csv")) == (OTHER if case.do == "call" else CSV)
    assert store.read("features/all.csv") == features()
    if failure is not None:
        trained = worker.trained(name, run=AGAIN)  # without the fault
    rows = trained.result.rows
    assert rows["read"] == N_VOTES
    assert rows["read"] == rows["used"] + rows["ties"] + rows["skipped"] + rows["rejected"]
    assert result_digests(store, trained.result.place) == unharmed
    assert (case.outcome == "failed") is (failure is not None), failure
    seen = Seen("done", "its results have the bytes of a clean run")
    if failure is not None:
        text = str(failure)
        assert plain(text), text
        assert re.search(case.said, text), text
        assert ";" in text, f"it does not say what to do: {text}"
        assert not any(secret in text for secret in (s3_server.key, s3_server.secret))
        seen = Seen("failed", text)
    passed("the store fails at one attribute", name, seen)

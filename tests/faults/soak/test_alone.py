"""Commands that start all they need themselves, Prefect's server too, and are killed by SIGKILL.

A process that is killed so ends nothing that it started; `Running.end` sees that all of it ended.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator

import pytest
from cases import passed
from commands import Fault, Running, processes_of
from judge import Bytes, Seen, champions_serve, inputs_as_given, judge_again, no_secret
from kills import GRACE, deliver_first, deliver_second, new_site
from pipeline import PATIENCE, PrefectApi
from registries import MLFLOW_WARNS
from sites import Site
from waiting import until

from tasks.lease import held_by

pytestmark = [pytest.mark.soak, MLFLOW_WARNS]

FIT, PIECE, TRIAL = "tasks.train:_computed", "tasks.score:_scores", "tasks.study.trials:carried_out"
SERVE = ("serve", "--cron", "* * * * *")
STARTING = ("prefect.server.api.server:create_app", "server start")
"""Words of Prefect's server as it is started by a night and by `urlr serve`."""

CASES: dict[str, tuple[tuple[str, ...], str]] = {
    "urlr nightly while Prefect starts": (("nightly",), ""),
    "urlr nightly amid a fit": (("nightly",), FIT),
    "urlr score amid a piece": (("score", "features.csv", "--out", "scores.parquet"), PIECE),
    "urlr study amid a trial": (("study", "figure2", "--out", "found"), TRIAL),
    "urlr serve while its server starts": (SERVE, ""),
    "urlr serve amid a night": (SERVE, FIT),
}
"""What is run, and the function in a worker that it hangs in; none: until Prefect is started."""


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory, prefect_api: PrefectApi) -> Iterator[Site]:
    """After a night, with more votes and a table to score; from then on no server is named."""
    made = new_site(tmp_path_factory.mktemp("alone"), prefect_api)
    deliver_first(made)
    assert made.night().code == 0
    deliver_second(made)
    features = made.store.read("features/all.csv")
    (made.command.work / "features.csv").write_bytes(features)
    made.command.environment["URLR_STORE"] = made.store.url
    del made.command.environment["PREFECT_API_URL"]
    yield made
    made.command.close()


def has_come_to(running: Running, hang: Fault | None) -> Callable[[], bool]:
    """Whether it hangs, or has started Prefect."""

    def there() -> bool:
        if running.process.poll() is not None:
            return True
        if hang is not None:
            return hang.struck > 0
        lines = [" ".join(one.cmdline()) for one in processes_of(running.mark)]
        return any(words in line for words in STARTING for line in lines)

    return there


def scored_again_a_day_later(site: Site, words: tuple[str, ...]) -> None:
    """What was left beside the output is removed by whoever writes there."""
    [left] = site.command.work.glob(".new-*")
    os.utime(left, (time.time() - 25 * 3600,) * 2)
    again = site.command(*words)
    assert again.code == 0, again
    assert not left.exists()


@pytest.mark.parametrize("name", CASES)
def test_nothing_outlives_a_command_that_was_killed(
    site: Site, two_clean_nights: Bytes, prefect_api: PrefectApi, tmp_path, name: str
) -> None:
    words, function = CASES[name]
    hang = Fault(function, "hang", tmp_path / "marks") if function else None
    running = site.command.start(*words, faults=(hang,) if hang else ())
    until(has_come_to(running, hang), seconds=PATIENCE)
    assert len(processes_of(running.mark)) > 1, "there is nothing that could be left"
    done = running.end(signal_sent=signal.SIGKILL)
    assert done.code == -signal.SIGKILL, done
    champions_serve(site)
    inputs_as_given(site)
    no_secret(site, done)
    until(lambda: held_by(site.store, grace=GRACE) is None, seconds=PATIENCE)
    site.command.environment["PREFECT_API_URL"] = prefect_api.address
    if words[0] == "score":
        scored_again_a_day_later(site, words)
    judge_again(site, site.night(), two_clean_nights)
    said = "no process is left; the next night is as if there had been none"
    passed("killed with all that it started", name, Seen("killed, then completed", said))

"""The rules that judge the paper's claims: they can come out either way, and say why."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from tasks.study import age, image, supplement
from tasks.study.claims import CLAIMS, judged
from tasks.study.experiments import EXPERIMENTS
from tasks.study.judging import FAILS, HOLDS, PARTLY, UNJUDGED
from tasks.study.learner import FEATURELESS, MAJORITY_SHARE, MAJORITY_SVM, RAW, URLR
from tasks.study.records import KEY

EVIDENCE = dict.fromkeys(EXPERIMENTS, "made up")
DENSITIES = [0.1, 0.5, 1.0]


def made(
    experiment: str,
    setting: str,
    measure: str,
    values: dict[str, float | Callable[[float], float]],
    places: list[float],
    *,
    spread: float = 1e-3,
    trials: int = 6,
) -> pd.DataFrame:
    """Rows of some methods along an axis, with a little noise from trial to trial."""
    rng = np.random.default_rng(0)
    rows = [
        (experiment, setting, trial, measure, name, at, (f(at) if callable(f) else f) + noise)
        for trial in range(trials)
        for at in places
        for name, f in values.items()
        for noise in [spread * rng.standard_normal()]
    ]
    return pd.DataFrame(rows, columns=[*KEY, "value"])


def verdict(number: int, *tables: pd.DataFrame):
    lines = judged(pd.concat(tables, ignore_index=True), EVIDENCE)
    (line,) = (line for line in lines if line.number == number)
    return line


def by_density(**values: float) -> list[pd.DataFrame]:
    names = {
        "urlr": URLR,
        "fl": FEATURELESS,
        "mv1": MAJORITY_SVM,
        "mv2": MAJORITY_SHARE,
        "raw": RAW,
    }
    named = {names[key]: value for key, value in values.items()}
    distances = [made("image", f"density {at:g}", "distance", named, [at]) for at in DENSITIES]
    return [*distances, made("image", "density 1", "auc", {URLR: 0.8}, [1.0])]


def test_there_are_nineteen_claims_each_with_a_rule_and_known_experiments():
    assert [claim.number for claim in CLAIMS] == list(range(1, 20))
    for claim in CLAIMS:
        assert claim.rule
        assert set(claim.needs) <= set(EXPERIMENTS)


def test_without_experiments_nothing_can_be_judged():
    lines = judged(pd.DataFrame(columns=[*KEY, "value"]), {})
    assert {line.verdict for line in lines} == {UNJUDGED}
    assert all("not run" in line.measured for line in lines)
    assert all(line.evidence == "" for line in lines)


def test_rows_that_lack_what_a_rule_needs_cannot_be_judged():
    lines = judged(pd.DataFrame(columns=[*KEY, "value"]), EVIDENCE)
    assert {line.verdict for line in lines} == {UNJUDGED}


def test_lowest_at_every_density():
    best = by_density(urlr=0.2, fl=0.22, mv1=0.25, mv2=0.3, raw=0.25)
    assert verdict(1, *best).verdict == HOLDS
    worst = verdict(1, *by_density(urlr=0.3, fl=0.22, mv1=0.25, mv2=0.3, raw=0.25))
    assert worst.verdict == FAILS
    assert "Huber-LASSO-FL at 0.1" in worst.why
    mixed = [
        made(
            "image",
            "density 0.1",
            "distance",
            {**dict.fromkeys(image.PAPER, 0.3), URLR: 0.2},
            [0.1],
        ),
        made(
            "image", "density 1", "distance", {**dict.fromkeys(image.PAPER, 0.2), URLR: 0.3}, [1.0]
        ),
        made("image", "density 1", "auc", {URLR: 0.8}, [1.0]),
    ]
    assert verdict(1, *mixed).verdict == PARTLY


def test_the_order_of_methods():
    def worse_when_sparse(at: float) -> float:
        return 0.4 - 0.1 * at

    values = {URLR: 0.2, FEATURELESS: 0.22, MAJORITY_SVM: 0.25, MAJORITY_SHARE: worse_when_sparse}
    tables = [made("image", f"density {at:g}", "distance", values, [at]) for at in DENSITIES]
    assert verdict(2, *tables).verdict == HOLDS
    turned = by_density(urlr=0.3, fl=0.25, mv1=0.22, mv2=0.2)
    assert verdict(2, *turned).verdict == FAILS


@pytest.mark.parametrize(("best", "expected"), [(0.55, HOLDS), (0.1, PARTLY)])
def test_the_best_pruning_rate(best, expected):
    curves = {
        URLR: lambda at: 0.3 + (at - best) ** 2,
        FEATURELESS: lambda at: 0.35 + (at - 0.05) ** 2,
    }
    along = made("image", image.RATES_SETTING, "distance", curves, list(image.RATES))
    wrong = made(
        "image", image.RATES_SETTING, "wrong among pruned", {URLR: 0.5}, list(image.RATES)[1:]
    )
    assert verdict(4, along, wrong).verdict == expected


@pytest.mark.parametrize(
    ("peak", "slope", "expected"), [(0.25, 0.02, HOLDS), (0.25, 1.0, PARTLY), (0.05, 1.0, FAILS)]
)
def test_the_peak_at_the_error_ratio(peak, slope, expected):
    def tau(at: float) -> float:
        return 0.4 - (at - peak) ** 2 * (2.0 if at < peak else slope)

    along = made("age", age.INTENTIONAL, "tau", {URLR: tau}, list(age.RATES), spread=1e-4)
    assert verdict(8, along).verdict == expected


@pytest.mark.parametrize(("correlation", "expected"), [(-0.6, HOLDS), (-0.1, FAILS)])
def test_the_order_by_years(correlation, expected):
    order = made("age", age.ORDER, "order against years", {URLR: correlation}, [0.0])
    years = made("age", age.ORDER, "years wrong", {URLR: 10.0}, [0.05, 0.45])
    line = verdict(11, order, years)
    assert line.verdict == expected
    assert bool(line.why) == (expected != HOLDS)


def test_a_difference_within_two_standard_errors_is_not_clear():
    values = {MAJORITY_SVM: 0.5, RAW: 0.5, URLR: 0.5}
    noisy = made("age", age.FIVE, "tau", values, [0.0, 0.15, 0.3], spread=0.05)
    assert verdict(9, noisy).verdict == FAILS


@pytest.mark.parametrize(("found_when_many", "expected"), [(0.0, HOLDS), (1.0, PARTLY)])
def test_bic_in_the_corners_of_its_table(found_when_many, expected):
    tables = [
        made("supplement", f"p {p:g}", f"{measure}{suffix}", {supplement.BIC: value}, ratios)
        for p, tpr in ((0.1, 1.0), (0.4, found_when_many))
        for suffix in supplement.SUFFIX.values()
        for measure, value in (("tpr", tpr), ("fpr", 0.0))
        for ratios in [[float(ratio) for ratio in supplement.RATIOS]]
    ]
    assert verdict(13, *tables).verdict == expected


def test_the_evidence_of_several_experiments_is_told_apart():
    lines = judged(pd.DataFrame(columns=[*KEY, "value"]), {"image": "stand-in", "age": "FG-NET"})
    (line,) = (line for line in lines if line.number == 14)
    assert line.evidence == "image: stand-in; age: FG-NET"

"""The public name of `urlr.simulation`: crowds whose truth and planted errors are known."""

from urlr.simulation.crowds import Crowd, Errors, age_votes, crowd
from urlr.simulation.mistakes import reach_for, unintentional_error
from urlr.simulation.pairs import Pattern
from urlr.simulation.people import AnnotatorShares, Kind

__all__ = [
    "AnnotatorShares",
    "Crowd",
    "Errors",
    "Kind",
    "Pattern",
    "age_votes",
    "crowd",
    "reach_for",
    "unintentional_error",
]

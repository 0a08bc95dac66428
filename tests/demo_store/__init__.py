"""The simulated life of a team's store: a month of votes on 21 attributes, and the day after it.

Everything is drawn from a seed and written with `create` alone, so that writing a night again
changes nothing. What was planted is given back, so that what a pipeline finds can be held against
the truth.

votes/interestingness/<category>  14 kinds of advertisements, 30 videos each, compared by 12 people
votes/photos/<attribute>          300 photos, one table of features for all their attributes
votes/headlines                   with features of its own
votes/slogans                     without features; a campaign strikes between the two nights
"""

from tests.demo_store.nights import Planted, PlantedAttribute, write_night_one, write_night_two
from tests.demo_store.plans import NIGHT_ONE, NIGHT_TWO, PLANS, Expected, Plan

__all__ = [
    "NIGHT_ONE",
    "NIGHT_TWO",
    "PLANS",
    "Expected",
    "Plan",
    "Planted",
    "PlantedAttribute",
    "write_night_one",
    "write_night_two",
]

"""Claims are counted by one rule."""

from jaxtheory.reports import tally


def claims(**numbers):
    """So many claims of each decision, printed but for those that are undecided."""
    words = [word.replace("_", " ") for word, number in numbers.items() for _ in range(number)]
    origins = {"undecided": "derived"}
    return [{"decision": word, "origin": origins.get(word, "printed")} for word in words]


def test_each_claim_counts_once():
    counts = tally.tally(claims(holds=3, fails=2, undecided=1, not_tested=4))
    assert counts == (3, 2, 1, 4) and (counts.total, counts.decided) == (10, 5)
    assert str(counts) == "3 of 10 (5 undecided)"
    assert str(tally.tally(claims(holds=3, fails=2))) == "3 of 5"
    assert tally.tally([]).total == 0


def test_by_origin():
    some = claims(holds=3, undecided=2)
    assert tally.tally(some, "printed") == (3, 0, 0, 0)
    assert tally.tally(some, "derived") == (0, 0, 2, 0)
    assert tally.tally(some, "interpretation").total == 0

"""Origins of claims."""

from jaxtheory.claims import derived, interpretation, printed


def test_origins_name_source_and_place():
    assert printed("paper", "theorem 1") == ("printed", "paper, theorem 1")
    assert interpretation("paper") == ("interpretation", "paper")
    assert derived() == ("derived", "derived") and derived("measured").source == "measured"

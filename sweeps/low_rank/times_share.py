"""Does the number of steps go as 1 / alpha*?"""

from jaxtheory import Claim, Figure
from jaxtheory.claims import Finding, Measure, between, exponent, interpretation
from jaxtheory.theories.low_rank import S1

from . import PAPER, only, pick, runs
from ._training import alpha, draw_time, fitted

COUNTS = {"num_relevant": [3, 6, 9, 12, 18], "num_confusion": [1, 2, 3, 4, 6]}

FIGURE = Figure(
    name="times_share",
    source=f"{PAPER}, theorem 1, T = Theta(eta^(-3/5) / alpha*)",
    finding=Finding(
        "The steps to test loss 0.1 go as a power of −1.25 to −0.75 of the share of relevant tokens, from 0.14 to 0.43",
        rests_on=("LR-75",),
    ),
    theory=only(),
    config=S1,
    sweep=runs(160, zip=COUNTS, record={"loss": 4}),
    quick={"zip": pick(COUNTS, 2, 4), "seeds": 2, "steps": 60},
    draw=lambda data: draw_time(data, "num_relevant", alpha(data).values, "α*", -1.0, -1.1),
    claims=(
        Claim(
            "LR-75",
            origin=interpretation(PAPER, "theorem 1"),
            statement="T = Theta(eta^(-3/5) / alpha*), its dependence on alpha*, read as the number of steps until the test loss is below 0.1: its exponent in alpha* is -1.25 to -0.75, over 0.14 to 0.43.",
            measure=Measure(
                "exponent in α* of the steps to a test loss of 0.1, α* = 0.14 to 0.43",
                lambda data: exponent(fitted(data), alpha(data)),
            ),
            bound=between(-1.25, -0.75),
            law=-1.0,
            why="The share of relevant tokens is the only property of the data that the theorem's time depends on.",
        ),
    ),
)

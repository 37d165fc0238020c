"""Does the number of steps go as eta^(-3/5), or as 1 / eta?"""

from jaxtheory import Claim, Figure
from jaxtheory.claims import Finding, Measure, between, derived, exponent, interpretation
from jaxtheory.theories.low_rank import S1

from . import PAPER, only, runs
from ._training import draw_time, fitted

FIGURE = Figure(
    name="times_rate",
    source=f"{PAPER}, theorem 1, T = Theta(eta^(-3/5) / alpha*)",
    finding=Finding(
        "The number of steps to a test loss of 0.1 goes as 1/η, not as η^(−3/5), for η = 0.1 to 0.8",
        rests_on=("LR-74", "LR-73"),
    ),
    theory=only(),
    config=S1,
    sweep=runs(400, vary={"learning_rate": [0.1, 0.17, 0.28, 0.48, 0.8]}, record={"loss": 8}),
    quick={"vary": {"learning_rate": [0.4, 0.8]}, "seeds": 2, "steps": 100},
    draw=lambda data: draw_time(data, "learning_rate", data.learning_rate.values, "η", -0.6, -1.0),
    claims=(
        Claim(
            "LR-73",
            origin=interpretation(PAPER, "theorem 1"),
            statement="T = Theta(eta^(-3/5) / alpha*), its dependence on eta, read as the number of steps until the test loss is below 0.1: its exponent in eta is -0.7 to -0.5.",
            measure=Measure(
                "exponent in η of the steps to a test loss of 0.1",
                lambda data: exponent(fitted(data), "learning_rate"),
            ),
            bound=between(-0.7, -0.5),
            law=-0.6,
            expect="fails",
            why="It is the theorem's only statement on the time that training takes.",
        ),
        Claim(
            "LR-74",
            origin=derived("measured"),
            statement="The number of steps until the test loss is below 0.1 goes as 1 / eta: the exponent is -1.1 to -0.9.",
            measure=Measure(
                "exponent in η of the steps to a test loss of 0.1",
                lambda data: exponent(fitted(data), "learning_rate"),
            ),
            bound=between(-1.1, -0.9),
            law=-1.0,
            why="Halving the step size doubles the time, as for gradient flow; the printed power would save a third of that.",
        ),
    ),
)

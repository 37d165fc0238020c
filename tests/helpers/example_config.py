"""A config with a field of each kind."""

from jaxtheory import Config, Size, evaluation, size, static, traced


class Example(Config):
    """A config with a field of each kind."""

    width: Size = size(4, "d", "width", "[2, inf)")
    rate: float = traced(0.1, "eta", "step size", "(0, 1]")
    count: int = traced(3, "k", "a whole number", "[1, 9]")
    cut: float = evaluation(0.0, "rho", "threshold", "[0, 1)")
    kind: str = static("a", "kind", "variant", ("a", "b"))
    flag: bool = static(False, "flag", "switch", (False, True))

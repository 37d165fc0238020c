"""What to sweep, read from words: values, axes and the arguments of `sweep` and `plan`. Pure
functions of the command line's texts.
"""

import dataclasses
import decimal
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, UseAppendAction, arg

import jaxtheory
from jaxtheory.core import plugins
from jaxtheory.core.errors import suggest
from jaxtheory.system import disk

if TYPE_CHECKING:
    from jaxtheory.core.config import Field
    from jaxtheory.core.theory import Theory

_Texts = UseAppendAction[tuple[Annotated[str, arg(metavar="NAME=VALUES")], ...]]


def _parse_values(field: "Field", text: str) -> list[Any]:
    """The values of `field` that a text stands for, in order.

    `1,2,3`       a list; a trailing comma is allowed
    `a:b:n`       n values at equal distances from a to b, both included
    `log:a:b:n`   n values at equal ratios from a to b, both included

    Ranges are computed in decimal, so that 0:1:11 holds 0.3 itself. Integer fields take whole
    numbers: a linear range must step over them, a logarithmic one is rounded to them. Static fields
    take their choices by name. Raises InputError for what cannot be read; whether a value lies in
    the field's range is for the engine to say.
    """
    label = (
        f"{field.name} ({field.symbol}) = {text!r}"
        if field.symbol != field.name
        else f"{field.name} = {text!r}"
    )
    items = [item.strip() for item in text.strip().removesuffix(",").split(",")]
    if items == [""]:
        raise jaxtheory.InputError(f"{label}: empty; give a list 1,2,3, a range a:b:n or log:a:b:n")
    try:
        if field.kind == "static":
            values = [_choice(field, item) for item in items]
        elif ":" in text:
            values = _range(text.strip(), field.integer)
        else:
            values = [_plain(_decimal(item), field.integer) for item in items]
    except ValueError as error:
        raise jaxtheory.InputError(f"{label}: {error}") from None
    return values


def _choice(field: "Field", text: str) -> Any:
    if not field.valid:
        raise ValueError("can be set in Python only")
    choices = {str(choice).lower(): choice for choice in field.valid}
    if text.lower() not in choices:
        raise ValueError(f"choose among {', '.join(map(str, field.valid))}")
    return choices[text.lower()]


def _decimal(text: str) -> decimal.Decimal:
    try:
        return decimal.Decimal(text)
    except decimal.DecimalException:
        raise ValueError(f"{text!r} is not a number") from None


def _plain(number: decimal.Decimal, integer: bool) -> int | float:
    value = float(number)
    return int(value) if integer and value.is_integer() else value


def _range(text: str, integer: bool) -> list[int | float]:
    logarithmic = text.startswith("log:")
    parts = text.removeprefix("log:").split(":")
    if len(parts) != 3:
        raise ValueError("a range is a:b:n or log:a:b:n")
    a, b = _decimal(parts[0]), _decimal(parts[1])
    if not (a.is_finite() and b.is_finite()):
        raise ValueError("the ends of a range are finite numbers")
    if logarithmic and not (a > 0 and b > 0):
        raise ValueError("the ends of a logarithmic range are positive")
    if not (parts[2].strip().isdigit() and int(parts[2]) >= 1):
        raise ValueError(f"n = {parts[2]}: must be an integer in [1, inf)")
    n = int(parts[2])
    if n == 1 and a != b:
        raise ValueError("n = 1 would leave out one end; give the value itself")
    shares = [decimal.Decimal(i) / max(n - 1, 1) for i in range(n)]
    try:
        numbers = [a * (b / a) ** share if logarithmic else a + (b - a) * share for share in shares]
    except decimal.DecimalException:
        raise ValueError("the range is too wide") from None
    values = [
        _plain(number.to_integral_value() if integer and logarithmic else number, integer)
        for number in numbers
    ]
    if integer and not all(isinstance(value, int) for value in values):
        raise ValueError(f"{n} values from {a} to {b} are not all integers")
    return values


def _parse_integers(name: str, text: str) -> list[int]:
    from jaxtheory.core.config import Field, Interval

    return _parse_values(
        Field(name, name, "traced", None, Interval.parse("[0, inf)"), "", "", True), text
    )


def _parse_axis(theory: "Theory", text: str) -> tuple[str, list[Any]]:
    """`NAME=VALUES` as (word, values); NAME is a field by word or symbol, `algorithm` or `steps`.
    Raises InputError.
    """
    from jaxtheory.core.config import Field, axis_word, fields

    name, equals, values = text.partition("=")
    name = name.strip()
    if not equals:
        raise jaxtheory.InputError(
            f"{text!r}: give NAME=VALUES, such as {next(iter(fields(theory.Config)))}=1,2,3"
        )
    if name == "algorithm":
        return name, _parse_values(
            Field(name, name, "static", None, tuple(theory.algorithms), "", "", False), values
        )
    if name == "steps":
        return name, _parse_integers(name, values)
    word = axis_word(theory.Config, name)
    return word, _parse_values(fields(theory.Config)[word], values)


def _parse_axes(theory: "Theory", texts: Iterable[str]) -> dict[str, list[Any]]:
    axes: dict[str, list[Any]] = {}
    for text in texts:
        word, values = _parse_axis(theory, text)
        if word in axes:
            raise jaxtheory.InputError(f"{word}: given twice")
        axes[word] = values
    return axes


def load_theory(name: str) -> "Theory":
    """A theory by name, or the THEORY of a FILE.py."""
    from jaxtheory.core.resolve import theory_of

    theory = theory_of(name)
    try:
        jaxtheory.check_theory(theory)
    except jaxtheory.InputError as error:
        raise jaxtheory.InputError(f"{name}: {error}") from None
    return theory


def _read_npz(file: Path) -> dict[str, Any]:
    """The arrays of a .npz file by name, numbers without axes as Python values. Raises InputError
    where it cannot be read; pickled objects are not.
    """
    from jaxtheory.system import npz

    arrays = npz.read_npz(disk.located(file))
    return {name: array if array.ndim else array.item() for name, array in arrays.items()}


def _load_figures(name: str) -> "list[jaxtheory.Figure]":
    """The FIGURES, or the FIGURE, of a FILE.py. Raises InputError."""
    module = jaxtheory.theories.load(name)
    one = (module.FIGURE,) if hasattr(module, "FIGURE") else ()
    figures = getattr(module, "FIGURES", one)
    if not isinstance(figures, tuple | list):
        raise jaxtheory.InputError(
            f"{name}: FIGURES is a {type(figures).__name__}, expected a tuple of figures"
        )
    if not figures:
        raise jaxtheory.InputError(f"{name}: defines no FIGURE = jaxtheory.Figure(...)")
    for figure in figures:
        if not isinstance(figure, jaxtheory.Figure):
            raise jaxtheory.InputError(
                f"{name}: a {type(figure).__name__}, expected a jaxtheory.Figure"
            )
    return list(figures)


def figure_places(name: str) -> list[tuple[str, int]]:
    """What `run` means by a name, each as (word, i), the i-th of `named_figures(word)`: a figure, a
    theory's figures, those of a FILE.py, headlines or all. Nothing but such a file is loaded.
    """
    if name.endswith(".py"):
        return [(name, i) for i in range(len(_load_figures(name)))]
    known = jaxtheory.figures.files()
    found = [each for each, file in known.items() if name in (each, file.parent.name, "all")]
    if name == "headlines":
        found = list(jaxtheory.figures.headlines())
    others = plugins.offered(plugins.FIGURES)
    if not found and name in others:
        found = [name]
    if not found:
        words = [*known, *others, *jaxtheory.theories.names(), "headlines", "all"]
        raise jaxtheory.InputError(f"unknown figure or theory {name!r}; {suggest(name, words)}")
    return [(figure, 0) for figure in found]


def named_figures(name: str) -> "list[jaxtheory.Figure]":
    """The figures that `run` and `show` mean by a name."""
    if name.endswith(".py"):
        return _load_figures(name)
    return [jaxtheory.figures.get(figure) for figure, _ in figure_places(name)]


@dataclasses.dataclass(frozen=True)
class Words:
    """What to sweep. Values: a list 1,2,3; a:b:n (linear) or log:a:b:n (both ends included)."""

    theory: Positional[Annotated[str, arg(metavar="THEORY")]]
    """Theory or FILE.py that defines THEORY."""
    vary: _Texts = ()
    """Axis NAME=VALUES, NAME being a field (word or symbol), algorithm or steps; repeat it for a
    product of axes.
    """
    zip: _Texts = ()
    """Axes that move together, one dimension: "lambda=1,5 rho=.3,.5"; repeatable."""
    set: _Texts = ()
    """Value FIELD=VALUE common to all points; repeatable."""
    seeds: Annotated[str, arg(metavar="N|LIST")] = "1"
    """How many seeds (8), or which (3,5,7; one alone: 3,)."""
    steps: Annotated[str | None, arg(metavar="N")] = None
    """Training steps; may be left out when steps is an axis."""
    key: int = 0
    """Root of all random numbers."""
    algorithm: Annotated[str | None, arg(metavar="NAME")] = None
    """Training algorithm; the theory's first by default."""
    record: _Texts = ()
    """When to look: every N steps (10), at a list of steps (0,10,50; one alone: 50,), or
    METRIC=STEPS, repeatable.
    """
    data: Annotated[Path | None, arg(metavar="FILE.npz")] = None
    """Arrays of your own, named as the arguments of the theory's `given`."""
    dtype: Annotated[Literal["float32", "float64"] | None, arg(metavar="float32|float64")] = None
    """JAX's setting by default."""
    buckets: Literal["auto", "pad", "exact"] = "auto"
    """How points of different sizes share compilations."""

    def asked(self) -> dict[str, Any]:
        """The arguments of `sweep` and `plan`. Raises InputError."""
        theory = load_theory(self.theory)
        fixed = _parse_axes(theory, self.set)
        for word, values in fixed.items():
            if word in ("algorithm", "steps") or len(values) != 1:
                raise jaxtheory.InputError(
                    f"--set {word}: takes one value of a field; use --{word} or --vary {word}=..."
                )
        vary = _parse_axes(theory, self.vary)
        zipped = [_parse_axes(theory, text.split()) for text in self.zip]
        if twice := [word for axes in (vary, *zipped) for word in axes if word in fixed]:
            raise jaxtheory.InputError(f"{twice[0]} stands in --set and on an axis; give it once")
        steps = [step for axes in (vary, *zipped) for step in axes.get("steps", ())]
        if self.steps is None and not steps:
            raise jaxtheory.InputError("steps: give --steps N, or make it an axis")
        settings = {word: value for word, (value,) in fixed.items()}
        problem, config = None, None
        if self.data is None:
            config = theory.Config(**settings)
        else:
            problem, config = self._given(theory, settings)
        return {
            "theory": theory,
            "config": config,
            "problem": problem,
            "vary": vary or None,
            "zip": zipped or None,
            "seeds": self._seeds(),
            "steps": max(steps) if self.steps is None else self._steps(self.steps),
            "key": self.key,
            "algorithm": self.algorithm,
            "record": self._record(),
            "dtype": self.dtype,
            "buckets": self.buckets,
        }

    def _given(self, theory: "Theory", settings: dict[str, Any]) -> tuple[Any, Any]:
        """The problem and the config of the arrays in the file."""
        import jax

        if theory.given is None:
            raise jaxtheory.InputError(f"--data: {theory.name} takes no arrays, it has no `given`")
        arrays = _read_npz(Path(str(self.data)))
        needed = [
            name
            for name, argument in inspect.signature(theory.given).parameters.items()
            if argument.default is argument.empty and argument.kind is not argument.VAR_KEYWORD
        ]
        if missing := [name for name in needed if name not in arrays]:
            held = ", ".join(arrays) or "nothing"
            raise jaxtheory.InputError(
                f"{self.data} holds {held}: {theory.name} needs {', '.join(missing)}"
            )
        # by position, as a field may have the name of an array
        listed = [
            arrays.pop(name, argument.default)
            for name, argument in inspect.signature(theory.given).parameters.items()
            if argument.kind not in (argument.VAR_KEYWORD, argument.KEYWORD_ONLY)
        ]
        if twice := [name for name in settings if name in arrays]:
            raise jaxtheory.InputError(f"{twice[0]} stands in {self.data} and in --set")
        default = str(jax.numpy.result_type(float))
        with jax.enable_x64((self.dtype or default) == "float64"):
            problem, _, config = theory.given(*listed, **arrays, **settings)
        return problem, config

    def _steps(self, text: str) -> int:
        found = _parse_integers("--steps", text)
        if len(found) > 1:
            raise jaxtheory.InputError(
                f"--steps = {text!r}: takes one number; use --vary steps={text}"
            )
        return found[0]

    def _seeds(self) -> int | list[int]:
        seeds = _parse_integers("seeds", self.seeds)
        return seeds if "," in self.seeds or ":" in self.seeds else seeds[0]

    def _record(self) -> int | list[int] | dict[str, list[int]] | None:
        if not self.record:
            return None
        if all("=" in text for text in self.record):
            named = [text.partition("=") for text in self.record]
            return {
                metric: _parse_integers(f"record {metric}", steps) for metric, _, steps in named
            }
        if len(self.record) > 1:
            raise jaxtheory.InputError("record: give one list of steps, or METRIC=STEPS for each")
        steps = _parse_integers("record", self.record[0])
        return steps if "," in self.record[0] or ":" in self.record[0] else steps[0]

"""Parsing of values, axes and the other arguments of `sweep` and `plan` from the command line."""

import dataclasses
import decimal
import inspect
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from tyro.conf import Positional, UseAppendAction, arg

import jaxtheory
from jaxtheory.cli.words.arguments import takes
from jaxtheory.cli.words.functions import observables, stop_rule
from jaxtheory.core import plugins
from jaxtheory.core.plugins import file_here
from jaxtheory.system import disk
from jaxtheory.texts.errors import suggest
from jaxtheory.texts.labels import name_fault

if TYPE_CHECKING:
    from jaxtheory.core.fields import Field
    from jaxtheory.core.theory import Theory

_Words = tuple[str, ...]


def _parse_values(field: "Field", text: str) -> list[Any]:
    """Parse the values of a field from a string.

    `1,2,3`       a list; a trailing comma is allowed
    `a:b:n`       n values at equal distances from a to b, both included
    `log:a:b:n`   n values at equal ratios from a to b, both included

    Ranges are computed in decimal, so that 0:1:11 contains exactly 0.3. Integer fields take whole
    numbers: a linear range must consist of them, a logarithmic one is rounded to them. Static
    fields take their choices by name. Malformed strings raise InputError. The engine checks whether
    the values lie in the range of the field.
    """
    label = (
        f"{field.name} ({field.symbol}) = {text!r}"
        if field.symbol != field.name
        else f"{field.name} = {text!r}"
    )
    items = [item.strip() for item in text.strip().removesuffix(",").split(",")]
    if items == [""]:
        raise jaxtheory.InputError(
            f"{label}: must not be empty; write a list 1,2,3 or a range a:b:n or log:a:b:n"
        )
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
        raise ValueError("this field can only be set in Python")
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
        raise ValueError("a range must be a:b:n or log:a:b:n")
    a, b = _decimal(parts[0]), _decimal(parts[1])
    if not (a.is_finite() and b.is_finite()):
        raise ValueError("the ends of a range must be finite numbers")
    if logarithmic and not (a > 0 and b > 0):
        raise ValueError("the ends of a logarithmic range must be positive")
    if not (parts[2].strip().isdigit() and int(parts[2]) >= 1):
        raise ValueError(f"n = {parts[2]}: must be an integer in [1, inf)")
    n = int(parts[2])
    if n == 1 and a != b:
        raise ValueError("n = 1 would leave out one end; write the value itself")
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
    from jaxtheory.core.fields import Field, Interval

    return _parse_values(
        Field(name, name, "traced", None, Interval.parse("[0, inf)"), "", "", True), text
    )


_OPTION_OF = {  # what is not a field -> the option that sets it for all points
    **{name: name for name in ("seeds", "key", "record", "stop", "dtype", "buckets")},
    "seed": "seeds",
    "step": "record",
    "problem": "data",
}


def parse_axes(
    theory: "Theory", option: str, texts: Iterable[str], lacks: Iterable[str] = ()
) -> dict[str, list[Any]]:
    """Parse each `NAME=VALUES` of an option, where NAME is a field or its symbol.

    NAME may also be `algorithm` or `steps`. lacks: options that the command does not have.
    """
    axes: dict[str, list[Any]] = {}
    for text in texts:
        name, values = _parse_axis(theory, option, text, lacks)
        if name in axes:
            raise jaxtheory.InputError(f"{name}: given twice")
        axes[name] = values
    return axes


def _parse_axis(
    theory: "Theory", option: str, text: str, lacks: Iterable[str]
) -> tuple[str, list[Any]]:
    from jaxtheory.core.config import fields
    from jaxtheory.core.fields import Field, axis_field

    name, equals, values = text.partition("=")
    name = name.strip()
    if not equals:
        raise jaxtheory.InputError(
            f"{text!r}: must be NAME=VALUES, such as {next(iter(fields(theory.Config)))}=1,2,3"
        )
    if name == "algorithm":
        return name, _parse_values(
            Field(name, name, "static", None, tuple(theory.algorithms), "", "", False), values
        )
    if name == "steps":
        return name, _parse_integers(name, values)
    try:
        field_name = axis_field(theory.Config, name)
    except jaxtheory.InputError:
        if (flag := _OPTION_OF.get(name)) is None:
            raise
        values += "," * (name == "seed" and "," not in values)  # not a number of seeds
        hint = "all points share it" if flag in lacks else f"use --{flag} {values}".rstrip()
        raise jaxtheory.InputError(f"{option} {text}: {name!r} is not a field; {hint}") from None
    return field_name, _parse_values(fields(theory.Config)[field_name], values)


def _parse_settings(theory: "Theory", options: "SweepOptions") -> dict[str, Any]:
    """Parse each `FIELD=VALUE` of --set."""
    from jaxtheory.core.config import fields
    from jaxtheory.core.fields import resolve

    for text in options.set:
        name, equals, value = (part.strip() for part in text.partition("="))
        if name in ("algorithm", "steps"):
            hint = f"use --{name} {value}".rstrip()
            raise jaxtheory.InputError(f"--set {text}: {name!r} is not a field; {hint}")
        if equals and not value:
            default = fields(theory.Config)[resolve(theory.Config, name)].default
            raise jaxtheory.InputError(
                f"--set {text}: has no value; write one, such as --set {name}={default}"
            )
    fixed = parse_axes(theory, "--set", options.set, options.LACKS)
    for (word, values), text in zip(fixed.items(), options.set, strict=True):
        if len(values) != 1:
            raise jaxtheory.InputError(
                f"--set {text}: takes one value of {word}; use {options.AXES} {text}"
            )
    return {word: value for word, (value,) in fixed.items()}


def load_theory(name: str) -> "Theory":
    """Load a theory by name, or the THEORY of a FILE.py."""
    from jaxtheory.core.resolve import theory_of

    theory: Theory = _standing_alone(name, theory_of, name)
    return theory


def _standing_alone(name: str, load: Callable, *args: Any) -> Any:
    """Call what loads a file; say what to do about a copy of one that does not stand alone."""
    try:
        return load(*args)
    except jaxtheory.InputError as error:
        if "relative import" not in str(error) or not isinstance(error.__cause__, ImportError):
            raise
        text = Path(name).read_text(encoding="utf-8", errors="replace")
        named = re.findall(r"""\bname=["'](\w+)["']""", text)
        figure = next((one for one in named if one in jaxtheory.figures.files()), "FIGURE")
        raise jaxtheory.InputError(
            f"{name}: imports from the files beside the one that it was copied from; write a copy "
            f"that stands alone with jaxtheory new NAME --from {figure}"
        ) from error


def _read_npz(file: Path) -> dict[str, Any]:
    """Read the arrays of a .npz file by name, those without axes as Python numbers.

    Pickled objects are not read.
    """
    from jaxtheory.system import npz

    arrays = npz.read_npz(disk.located(file))
    return {name: array if array.ndim else array.item() for name, array in arrays.items()}


def _load_figures(name: str) -> "list[jaxtheory.Figure]":
    """Load the FIGURES, or the FIGURE, of a FILE.py."""
    module = _standing_alone(name, jaxtheory.theories.load, name)
    one = (module.FIGURE,) if hasattr(module, "FIGURE") else ()
    figures = getattr(module, "FIGURES", one)
    if not isinstance(figures, tuple | list):
        raise jaxtheory.InputError(
            f"{name}: FIGURES is a {type(figures).__name__}, expected a tuple of figures"
        )
    if not figures:
        raise jaxtheory.InputError(f"{name}: must define FIGURE = jaxtheory.Figure(...)")
    for figure in figures:
        if not isinstance(figure, jaxtheory.Figure):
            raise jaxtheory.InputError(
                f"{name}: a {type(figure).__name__}, expected a jaxtheory.Figure"
            )
        if fault := name_fault(figure.name):  # files and folders of results have this name
            raise jaxtheory.InputError(f"{name}: Figure: name = {fault}")
    return list(figures)


def is_of_figures(name: str) -> bool:
    """True if a FILE.py defines figures, of a theory that is defined elsewhere."""
    module = _standing_alone(name, jaxtheory.theories.load, name)
    config = getattr(getattr(module, "THEORY", None), "Config", None)
    own = getattr(config, "__module__", "") == module.__name__
    return not own and bool(vars(module).keys() & {"FIGURE", "FIGURES"})


def figure_places(name: str) -> list[tuple[str, int]]:
    """List the figures that a name of `run` stands for, as (name, i), where i counts in its file.

    The name is a figure, a theory (all its figures), a FILE.py, headlines or all. The i-th of
    `named_figures(name)` is meant. Only a FILE.py is loaded.
    """
    if name.endswith(".py"):
        return [(name, i) for i in range(len(_load_figures(name)))]
    files = jaxtheory.figures.files()
    figures = [
        figure for figure, file in files.items() if name in (figure, file.parent.name, "all")
    ]
    if name == "headlines":
        figures = list(jaxtheory.figures.headlines())
    entry_points = plugins.offered(plugins.FIGURES)
    if not figures and name in entry_points:
        figures = [name]
    if not figures:
        names = [*files, *entry_points, *jaxtheory.theories.names(), "headlines", "all"]
        hint = file_here(name) or suggest(name, names)
        raise jaxtheory.InputError(f"unknown figure or theory {name!r}; {hint}")
    return [(figure, 0) for figure in figures]


def named_figures(name: str) -> "list[jaxtheory.Figure]":
    """Load the figures that a name of `run` or `show` stands for."""
    if name.endswith(".py"):
        return _load_figures(name)
    return [jaxtheory.figures.get(figure) for figure, _ in figure_places(name)]


def parse_steps(text: str, axes: str) -> int:
    """Parse a number of steps; axes: the option for several."""
    numbers = _parse_integers("--steps", text)
    if len(numbers) > 1:
        raise jaxtheory.InputError(
            f"--steps = {text!r}: must be one number; use {axes} steps={text} for several"
        )
    return numbers[0]


def parse_seeds(text: str) -> int | list[int]:
    """Parse a number of seeds, or a list of them."""
    seeds = _parse_integers("seeds", text)
    return seeds if "," in text or ":" in text else seeds[0]


@dataclasses.dataclass(frozen=True)
class SweepOptions:
    """Options that define a sweep."""

    AXES: ClassVar[str] = "--vary"  # the option of the command for axes
    LACKS: ClassVar[tuple[str, ...]] = ()  # options that the command does not have

    theory: Positional[Annotated[str, arg(metavar="THEORY")]]
    """Name of a theory, or a FILE.py that defines THEORY."""
    vary: UseAppendAction[Annotated[_Words, arg(metavar="NAME=VALUES")]] = ()
    """Axis of the grid, such as p=0.5,0.7; NAME is a field, its symbol, algorithm or steps."""
    zip: UseAppendAction[Annotated[_Words, arg(metavar="AXES")]] = ()
    """Axes that vary together, in quotes, such as "lambda=1,5 rho=0.3,0.5"."""
    set: UseAppendAction[Annotated[_Words, arg(metavar="FIELD=VALUE")]] = ()
    """Value of a field at all points."""
    seeds: Annotated[str, arg(metavar="N|LIST")] = "1"
    """Number of seeds (8), or a list of them (3,5,7 or, for a single one, 3,)."""
    steps: Annotated[str | None, takes("N")] = None
    """Number of training steps, which may be left out if steps is an axis."""
    key: int = 0
    """Root of all random numbers."""
    algorithm: Annotated[str | None, takes("NAME")] = None
    """Training algorithm; by default the first of the theory."""
    record: UseAppendAction[Annotated[_Words, arg(metavar="STEPS")]] = ()
    """Steps to evaluate the metrics: each 10th (10), a list (0,10,50 or 50,) or METRIC=STEPS."""
    stop: Annotated[str | None, takes("RULE")] = None
    """Rule that ends a run at a recorded step: "METRIC < NUMBER" (or >) or FILE.py:FUNCTION."""
    save_params: Annotated[_Words | None, takes("[STEPS]")] = None
    """Keep the weights of each run, at the end or at these steps; write it after THEORY."""
    observe: UseAppendAction[Annotated[_Words, arg(metavar="FILE.py:NAME")]] = ()
    """Record a function of (params, problem, config) along with the metrics."""
    data: Annotated[Path | None, takes("FILE.npz")] = None
    """Your own arrays, named as the arguments of `given` of the theory."""
    dtype: Annotated[Literal["float32", "float64"] | None, takes("float32|float64")] = None
    """Number format; by default the setting of JAX."""
    buckets: Literal["auto", "pad", "exact"] = "auto"
    """Pad different sizes to share compilations (pad), compile each (exact), or choose (auto)."""

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `sweep` and `plan`."""
        theory = load_theory(self.theory)
        settings = _parse_settings(theory, self)
        vary = parse_axes(theory, self.AXES, self.vary, self.LACKS)
        zipped = [parse_axes(theory, "--zip", text.split(), self.LACKS) for text in self.zip]
        if twice := [word for axes in (vary, *zipped) for word in axes if word in settings]:
            raise jaxtheory.InputError(
                f"{twice[0]} is both in --set and on an axis; remove one of the two"
            )
        steps = [step for axes in (vary, *zipped) for step in axes.get("steps", ())]
        if self.steps is None and not steps:
            raise jaxtheory.InputError(f"steps: missing; add --steps N or {self.AXES} steps=...")
        problem, config = None, None
        if self.data is None:
            config = theory.Config(**settings)
        else:
            problem, config = self._from_file(theory, settings)
        return {
            "theory": theory,
            "config": config,
            "problem": problem,
            "vary": vary or None,
            "zip": zipped or None,
            "seeds": parse_seeds(self.seeds),
            "steps": max(steps) if self.steps is None else parse_steps(self.steps, self.AXES),
            "key": self.key,
            "algorithm": self.algorithm,
            "record": self._record(),
            "stop": None if self.stop is None else stop_rule(self.stop),
            "save_params": self._save_params(),
            "observe": observables(self.observe, theory, self.algorithm) or None,
            "dtype": self.dtype,
            "buckets": self.buckets,
        }

    def _from_file(self, theory: "Theory", settings: dict[str, Any]) -> tuple[Any, Any]:
        """Return the problem and the config that belong to the arrays in the file."""
        import jax

        if theory.given is None:
            raise jaxtheory.InputError(
                f"--data: {theory.name} accepts no data: it does not define `given`"
            )
        arrays = _read_npz(Path(str(self.data)))
        needed = [
            name
            for name, argument in inspect.signature(theory.given).parameters.items()
            if argument.default is argument.empty and argument.kind is not argument.VAR_KEYWORD
        ]
        if missing := [name for name in needed if name not in arrays]:
            present = ", ".join(arrays) or "nothing"
            raise jaxtheory.InputError(
                f"{self.data} holds {present}: {theory.name} needs {', '.join(missing)}"
            )
        # by position, as a field may have the name of an array
        listed = [
            arrays.pop(name, argument.default)
            for name, argument in inspect.signature(theory.given).parameters.items()
            if argument.kind not in (argument.VAR_KEYWORD, argument.KEYWORD_ONLY)
        ]
        if twice := [name for name in settings if name in arrays]:
            raise jaxtheory.InputError(
                f"{twice[0]} is both in {self.data} and in --set; remove one of the two"
            )
        default = str(jax.numpy.result_type(float))
        with jax.enable_x64((self.dtype or default) == "float64"):
            problem, _, config = theory.given(*listed, **arrays, **settings)
        return problem, config

    def _save_params(self) -> bool | int | list[int]:
        if self.save_params is None or not self.save_params:
            return self.save_params is not None
        if len(self.save_params) > 1:
            raise jaxtheory.InputError(
                f"--save-params {' '.join(self.save_params)}: must be one list of steps, such as "
                "0,10,50"
            )
        steps = _parse_integers("save-params", self.save_params[0])
        return steps if "," in self.save_params[0] or ":" in self.save_params[0] else steps[0]

    def _record(self) -> int | list[int] | dict[str, list[int]] | None:
        if not self.record:
            return None
        if all("=" in text for text in self.record):
            named = [text.partition("=") for text in self.record]
            return {
                metric: _parse_integers(f"record {metric}", steps) for metric, _, steps in named
            }
        if len(self.record) > 1:
            raise jaxtheory.InputError(
                "record: must be one list of steps, or METRIC=STEPS for each metric"
            )
        steps = _parse_integers("record", self.record[0])
        return steps if "," in self.record[0] or ":" in self.record[0] else steps[0]

"""A figure with other axes, seeds or steps, whose claims are judged where they still make sense."""

import dataclasses
import functools
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jaxtheory
from jaxtheory.cli.words.parsing import parse_axes, parse_seeds, parse_steps
from jaxtheory.texts.errors import line, suggest

if TYPE_CHECKING:
    from jaxtheory.claims.figure import Figure


@dataclasses.dataclass(frozen=True)
class Changes:
    """What differs from the sweep of a figure, as words of the command line."""

    vary: tuple[str, ...] = ()
    zip: tuple[str, ...] = ()
    seeds: str | None = None
    steps: str | None = None
    large: bool = False

    @property
    def words(self) -> list[str]:
        """The options with their values; empty if nothing differs."""
        words = ["--large"] * self.large
        words += [word for text in self.vary for word in ("--vary", text)]
        words += [word for text in self.zip for word in ("--zip", text)]
        words += ["--seeds", self.seeds] if self.seeds is not None else []
        return words + (["--steps", self.steps] if self.steps is not None else [])

    @property
    def moves(self) -> bool:
        """True if the claims of the figure are not about what is run."""
        return bool(self.vary or self.zip or self.steps is not None or self.large)

    def apply(self, figure: "Figure", quick: bool) -> "Figure":
        """Return the figure with these changes of its whole or its quick form.

        Other axes, sizes or steps are not those that its claims are about: nothing is expected of
        them, and their bounds are not drawn. Where its drawing does not take the axes, the sweep is
        drawn as `jaxtheory sweep --plot` draws it.
        """
        config, options = jaxtheory.claims.arguments(figure, quick)
        if self.large:
            if not figure.large:
                raise jaxtheory.InputError(f"--large: {figure.name} has no large form")
            options |= figure.large
        if self.vary or self.zip:
            options |= self._axes(figure, options)
        if self.steps is not None:
            options |= _with_steps(figure, options, parse_steps(self.steps, "--vary"))
        if self.seeds is not None:
            if "seeds" not in options:
                raise jaxtheory.InputError(f"--seeds: {figure.name} has no seeds to change")
            options["seeds"] = parse_seeds(self.seeds)
        claims, draw = figure.claims, figure.draw
        if self.moves:
            claims = tuple(dataclasses.replace(c, expect=None, panel=None) for c in claims)
            draw = _draws_any(figure, shlex.join(self.words))
        return figure._replace(config=config, sweep=options, quick={}, claims=claims, draw=draw)

    def _axes(self, figure: "Figure", options: Mapping[str, Any]) -> dict[str, Any]:
        """The axes of a figure, in which those that have the same fields are replaced."""
        if figure.theory is None:
            raise jaxtheory.InputError(
                f"--vary: {figure.name} is an experiment, not a sweep of a theory; change its "
                f"options in a copy: jaxtheory new NAME --from {figure.name}"
            )
        searches = figure.verb is jaxtheory.boundary
        if searches and self.zip:
            raise jaxtheory.InputError(f"--zip: {figure.name} searches boundaries; use --vary")
        name = "over" if searches else "vary"
        vary = parse_axes(figure.theory, "--vary", self.vary)
        zips = [parse_axes(figure.theory, "--zip", text.split()) for text in self.zip]
        field = functools.partial(_field, figure.theory)
        groups = options.get("zip") or []
        groups = [groups] if isinstance(groups, Mapping) else groups
        zipped = {word for group in zips for word in group}
        remaining = [group for group in groups if not zipped & {*map(field, group)}]
        for group in remaining:
            if conflicts := vary.keys() & {*map(field, group)}:
                raise _zipped(figure, field, group, sorted(conflicts)[0])
        axes = {n: v for n, v in (options.get(name) or {}).items() if field(n) not in zipped}
        for word, values in vary.items():
            axes[next((n for n in axes if field(n) == word), word)] = values
        updates: dict[str, Any] = {name: axes}
        if not searches:
            updates["zip"] = [*remaining, *zips] or None
        steps = [n for axis in (axes, *zips) for n in axis.get("steps", ())]
        return updates | (_with_steps(figure, options, max(steps)) if steps else {})


def _field(theory: Any, name: str) -> str:
    """The field of an axis, or "" if it labels the others."""
    from jaxtheory.core.fields import axis_field

    try:
        return axis_field(theory.Config, name)
    except jaxtheory.InputError:
        return ""


def _zipped(figure: "Figure", field: Any, group: Mapping[str, Sequence], word: str) -> Exception:
    """The error that a field varies together with others."""
    values = {field(name): values[0] for name, values in group.items() if field(name)}
    partners = ", ".join(name for name in values if name != word) or "its labels"
    example = " ".join(f"{name}={value}" for name, value in values.items())
    return jaxtheory.InputError(
        f"--vary {word}: varies together with {partners} in {figure.name}; give all of them, such "
        f'as --zip "{example}"'
    )


def _with_steps(figure: "Figure", options: Mapping[str, Any], steps: int) -> dict[str, Any]:
    """The options for another number of steps: records up to the end, and the end itself."""
    if "steps" not in options:
        raise jaxtheory.InputError(
            f"--steps: {figure.name} has no steps to change; {suggest('steps', options)}"
        )
    updates: dict[str, Any] = {"steps": steps}
    for name in ("record", "save_params"):
        recorded = options.get(name)
        if isinstance(recorded, Mapping):
            updates[name] = {metric: _until(steps, which) for metric, which in recorded.items()}
        elif recorded is not None:
            updates[name] = _until(steps, recorded)
    return updates


def _until(steps: int, recorded: Any) -> Any:
    """Steps of records, cut at the last step, which is one of them."""
    if isinstance(recorded, bool) or not steps:
        return recorded
    if isinstance(recorded, int):
        return min(recorded, steps)
    return sorted({int(step) for step in recorded if step < steps} | {steps})


def _draws_any(figure: "Figure", words: str) -> Any:
    """The drawing of a figure, or the picture of any sweep where that fails; words: the changes."""

    @functools.wraps(figure.draw)
    def draw(data: Any) -> Any:
        from jaxtheory.engine.results.summary import metrics
        from jaxtheory.plotting import plot
        from jaxtheory.plotting.overview import picture

        try:
            drawn = figure.draw(data)
            plot.remark(drawn, f"Drawn with {words}; the title is that of {figure.name} without.")
        except Exception as error:
            if not (figure.verb is jaxtheory.sweep and figure.theory and metrics(data)):
                raise jaxtheory.InputError(
                    f"{figure.name}: its drawing does not take these axes ({line(error)}); change "
                    f"it in a copy: jaxtheory new NAME --from {figure.name}"
                ) from error
            drawn = picture(data, metrics(data)[0])
            sentence = f"Drawn with {words}, which the drawing of {figure.name} does not take"
            plot.remark(drawn, f"{sentence}: this is its first metric.")
        return drawn

    return draw

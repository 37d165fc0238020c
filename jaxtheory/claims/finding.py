"""Findings: sentences that rest on claims, and that are shown where the verdicts bear them out."""

import dataclasses
from collections.abc import Mapping

from jaxtheory.texts.errors import InputError


@dataclasses.dataclass(frozen=True)
class Finding:
    """A sentence, such as the title of a figure, and the claims that it rests on.

    It is said where each of these claims comes out as expected: one that is expected to hold holds,
    and one that is expected to fail, which the sentence contradicts, fails.

    Args:
        text: the sentence, without a period at its end.
        rests_on: names of claims.

    Raises:
        InputError: if the text is empty or ends with a period, or it rests on nothing.

    Example:
        >>> from jaxtheory.claims import Finding
        >>> finding = Finding("Attention selects the parent", rests_on=("RW-2",))
        >>> [finding.is_borne_out({"RW-2": word}) for word in ("as expected", "undecided")]
        [True, False]
    """

    text: str
    rests_on: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.text.strip() or self.text.endswith("."):
            raise InputError(
                f"finding {self.text!r}: must be a sentence without a period at its end"
            )
        if isinstance(self.rests_on, str) or not self.rests_on:
            raise InputError(
                f"finding {self.text!r}: rests_on = {self.rests_on!r}; must be a tuple of names of "
                "claims"
            )

    def __str__(self) -> str:
        return self.text

    def is_borne_out(self, outcomes: Mapping[str, str]) -> bool:
        """Return whether each claim has come out as expected.

        Args:
            outcomes: by the name of a claim "as expected", "differs", "open", "undecided" or "not
                tested", as `Judged.outcome` says it.

        Returns:
            False also if a claim is missing.
        """
        return all(outcomes.get(claim) == "as expected" for claim in self.rests_on)

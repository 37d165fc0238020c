"""Origin of a claim: the sentence of a source, an interpretation of one, or a statement of ours."""

from typing import NamedTuple


class Origin(NamedTuple):
    """Origin of a claim, made by `printed`, `interpretation` or `derived`.

    Args:
        kind: "printed", "interpretation" or "derived".
        source: the source and the place in it, or the reason for a derived statement.

    Example:
        >>> from jaxtheory import claims
        >>> claims.printed("arXiv 2411.10830", "theorem on shift")
        Origin(kind='printed', source='arXiv 2411.10830, theorem on shift')
    """

    kind: str
    source: str


def printed(source: str, place: str = "") -> Origin:
    """Return the origin of a sentence that the source prints; the statement quotes it in “ ”.

    Args:
        source: the paper, talk or note.
        place: where the sentence is in it, such as "theorem 3.1".

    Returns:
        The origin, whose source is "source, place", or the source alone without a place.

    Example:
        >>> from jaxtheory import claims
        >>> claims.printed("arXiv 2410.11261", "figure 2(a)").source
        'arXiv 2410.11261, figure 2(a)'
    """
    return Origin("printed", _placed(source, place))


def interpretation(source: str, place: str = "") -> Origin:
    """Return the origin of an interpretation of a source.

    The source gives no numbers, or only an order of magnitude, and the statement says with "read
    as" which numbers were chosen.

    Args:
        source: the paper, talk or note.
        place: where the sentence is in it, such as "section 5.1".

    Returns:
        The origin, whose source is "source, place", or the source alone without a place.

    Example:
        >>> from jaxtheory import claims
        >>> claims.interpretation("arXiv 2410.23438", "section 5.1").kind
        'interpretation'
    """
    return Origin("interpretation", _placed(source, place))


def derived(why: str = "derived") -> Origin:
    """Return the origin of a statement that no source makes: a corrected law, a limit, a finding.

    Args:
        why: the derivation in a few words, or "measured".

    Returns:
        The origin, whose source is the reason.

    Example:
        >>> from jaxtheory import claims
        >>> claims.derived("measured")
        Origin(kind='derived', source='measured')
    """
    return Origin("derived", why)


def _placed(source: str, place: str) -> str:
    return f"{source}, {place}" if place else source

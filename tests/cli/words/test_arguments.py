"""Words that no command takes: one line with the closest ones that it takes."""

import pytest

from jaxtheory.cli.main import _Command, main
from jaxtheory.cli.run import Run
from jaxtheory.cli.words.arguments import read_command
from jaxtheory.texts.errors import InputError


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("swep random_walk --steps 3", "jaxtheory: unknown command 'swep'; did you mean 'sweep'?"),
        ("Sweep random_walk", "unknown command 'Sweep'; did you mean 'sweep'?"),
        (
            "sweep random_walk --step 10",
            "jaxtheory sweep: unknown option --step; did you mean '--steps'?",
        ),
        ("sweep random_walk --steps=3 --seed=2", "unknown option --seed; did you mean '--seeds'?"),
        ("sweep random_walk --steps 3 --savee-params", "did you mean '--save-params'?"),
        ("sweep random_walk --no-wiat", "did you mean '--no-wait'?"),
        ("run walk_phase --quik", "jaxtheory run: unknown option --quik; did you mean '--quick'?"),
        ("show walk_phase --paper page", "unknown option --paper; it is an option of run"),
        ("boundary random_walk --save-params", "it is an option of sweep and plan"),
        ("verify -full", "jaxtheory verify: unknown option -full; did you mean '--full'?"),
        ("", "jaxtheory: the command is missing; jaxtheory --help lists list, show, run"),
        ("sweep", "jaxtheory sweep: missing: THEORY Name of a theory"),
        ("sweep random_walk --steps", "Missing value for argument '--steps'"),
        ("sweep random_walk --key x --steps 3", "Error parsing --key"),
        ("sweep random_walk --buckets no", "invalid choice 'no' for argument '--buckets'"),
        ("sweep random_walk more", "Unrecognized options: more; see jaxtheory sweep --help"),
        ("--hlp", "jaxtheory: Unrecognized options: --hlp; see jaxtheory --help"),
    ],
)
def test_wrong_words_are_one_line(words, message, capsys):
    assert main(words.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and len(printed.err.splitlines()) == 1
    assert message in printed.err and not {*printed.err} & {*"╭│╰─"}


def test_right_words_are_a_command(capsys):
    command = read_command(_Command, ["run", "walk_phase", "--quick", "--key", "3"])
    assert isinstance(command, Run) and command.quick and command.key == 3
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("words", [["--help"], ["sweep", "--help"], ["run", "-h"]])
def test_help_is_no_error(words, capsys):
    assert main(words) == 0
    printed = capsys.readouterr()
    assert "usage: jaxtheory" in printed.out and not printed.err


def test_negative_values_are_not_options():
    with pytest.raises(InputError, match="Unrecognized options: -3"):
        read_command(_Command, ["show", "walk_phase", "-3"])

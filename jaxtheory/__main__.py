"""`python -m jaxtheory`: the command line."""

from jaxtheory.cli.main import entry

entry()

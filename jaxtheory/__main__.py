"""`python -m jaxtheory`: the command line."""

from jaxtheory.cli import entry

entry()

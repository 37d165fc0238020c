"""How annotations are executed: beartype, for which an int is a float, as for mypy."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))

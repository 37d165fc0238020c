"""Which array functions may a theory use? Their values do not depend on the padding of arrays."""

"""Which array functions may a theory use? Their numbers do not depend on the padding of arrays."""

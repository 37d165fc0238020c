"""What does this machine provide? JAX's backend, memory, locks and files that are written whole."""

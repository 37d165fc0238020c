"""What does this machine give? JAX's backend, memory, locks, files that are whole or absent."""

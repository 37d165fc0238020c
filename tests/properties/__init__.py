"""Properties of the engine that hold for every request."""

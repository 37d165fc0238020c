"""Which shapes are compiled, and what fits? Layouts, chunks, memory and seconds."""

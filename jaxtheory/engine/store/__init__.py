"""Where are the numbers? Rectangles of finished runs, states, datasets on disk, and merging."""

"""What becomes of the numbers? Identity, datasets, statistics and export."""

"""What becomes of the numbers? Identity, store, dataset, statistics and export."""

"""Where does a chunk run elsewhere? Dask clusters and what travels to their workers."""

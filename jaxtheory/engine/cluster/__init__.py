"""Where does a chunk run elsewhere? Dask clusters and the data sent to their workers."""

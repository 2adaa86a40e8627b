"""FTIO, the I/O of a two-dimensional Fourier transform that does not fit in memory."""

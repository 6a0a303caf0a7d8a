"""The engine: losses, starts, sweeps and the loop over them."""

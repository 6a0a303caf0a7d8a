"""How H is found: losses, starts, sweeps, column restarts, and the run that ties them together."""

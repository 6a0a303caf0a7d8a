"""Losses, sweeps and rounds."""

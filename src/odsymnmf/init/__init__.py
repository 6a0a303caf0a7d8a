"""Initializations of H, one file each; `initialize` has their names."""

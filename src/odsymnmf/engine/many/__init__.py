"""As many clusters as the data has: memberships stored by their non-zeros, at a cost without r."""

"""Adapt a network to the user's own images."""

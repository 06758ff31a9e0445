"""Artefacts that are published once and reused for ever: the non-interactive setting."""

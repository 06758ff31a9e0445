"""Reproducible answers of a session, for tests that say that they want them."""

from __future__ import annotations

from sfumato.govern.known_noise import allow_known_noise

__all__ = ["allow_known_noise"]

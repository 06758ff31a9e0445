"""Certificates: what a stranger can check about a release or a budget, offline."""

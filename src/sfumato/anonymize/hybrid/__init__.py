"""Hybrid records: clusters of like rows whose sets are anonymous within each cluster."""

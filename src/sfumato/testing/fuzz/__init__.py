"""Fuzzers: random questions held against their charge, random releases held against brute force."""

"""Graphs: edges added and removed, or nodes grouped, until nobody stands out."""

"""Generalisation hierarchies: the tree, its files, and the rules that build one."""

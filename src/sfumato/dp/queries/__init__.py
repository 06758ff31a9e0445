"""Queries as values: what they ask, how sensitive they are, and their exact answers.

``base`` holds :func:`sensitivity`, ``local`` the study of one data set, ``exact_sum`` the sums
that noise is added to; the other modules hold the queries, each with its derivation and proof.
"""

"""The service: the owner, the analyst, the person and the public at one address.

A thin layer of HTTP: what is private, what is charged and what is allowed is decided in the
other rooms. `routes.py` is the one table of what there is and who may have it.
"""

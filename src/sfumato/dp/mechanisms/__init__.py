"""Mechanisms: randomised functions that prove their guarantee and state their error.

Each module opens with the promise, its proof and the error. All of them are frozen values with
``guarantee``, ``error``, ``release``, ``simulate`` and ``epsilon_for``; :mod:`.releases` has one
function per mechanism for those who want a single call.
"""

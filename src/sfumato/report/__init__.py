"""One HTML page per release: the promise, the evidence, the price, with pictures.

A page is one file without scripts, fonts or images from elsewhere. It reads on a phone and
on paper, and every picture has its numbers beside it.
"""

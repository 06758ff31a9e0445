"""One folder per family of algorithms; each turns a `Problem` into a `Recoding`."""

"""Trees: classes of isomorphic trees with one representative each, and trees cut apart."""

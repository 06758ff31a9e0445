"""Tables: the problem, the algorithms that solve it, and rows recoded by the answer."""

"""Events that tell two data sets apart: scores of outputs, and which end of which to measure."""

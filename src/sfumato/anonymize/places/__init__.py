"""Answer requests from a place without telling whose it is: boxes, streams, mix zones."""

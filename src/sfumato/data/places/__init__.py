"""Places of people at one moment, and requests that carry one."""

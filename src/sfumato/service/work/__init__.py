"""What jobs do: make releases, and answer the requests of people."""

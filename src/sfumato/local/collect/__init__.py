"""The collection path: surveys, devices' memory, the collector and its store."""

"""Private training of torch modules: clip each example, add noise, remember what it cost."""

"""From a decision to rows: cells, shares, lines, and one more look before they leave."""

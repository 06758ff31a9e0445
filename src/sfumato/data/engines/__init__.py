"""Where rows live, and how their errors are kept from quoting a cell."""

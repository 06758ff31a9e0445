"""Trees: records that branch, one tree per person, from JSON, JSON lines, XML or Python."""

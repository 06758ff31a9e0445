"""The ledger: append-only, chained by hashes, durable before data are touched."""

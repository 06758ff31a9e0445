"""Where the rows live: DuckDB, Postgres or Spark, behind one small protocol."""

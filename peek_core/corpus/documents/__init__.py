"""From JSON, JSON Lines and Parquet to tables."""

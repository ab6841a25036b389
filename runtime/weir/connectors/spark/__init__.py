"""Bounded Spark DataFrames and SQL queries as sources. This package does not import pyspark; ``weir.spark`` plugs it in."""

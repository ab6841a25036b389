"""Slots on Spark. No other package of Weir imports pyspark."""

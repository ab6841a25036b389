"""Sources that read a bounded Spark DataFrame or the result of a bounded Spark SQL query. This package does not import pyspark.
``weir.spark`` injects a ``SparkPlanner``."""

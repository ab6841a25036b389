"""The process that drives the coordinator kernel (in the Spark driver)."""

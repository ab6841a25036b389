"""The coordinator: runs the job master in the Spark driver and executes its effects."""

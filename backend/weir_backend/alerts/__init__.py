"""Alert rules on jobs, and the alerts that they raise."""

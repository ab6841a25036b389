"""Sources and sinks, and the interfaces that they implement."""

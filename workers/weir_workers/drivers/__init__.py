"""Driver processes on this machine: started so that they outlive who started them, found again, looked after."""

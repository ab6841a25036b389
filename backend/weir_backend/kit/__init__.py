"""What every domain uses: the session, lists, problems, versions, the port to the workers."""

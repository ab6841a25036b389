"""What is to run: jobs, the numbered versions of their specs, and the verbs that change what is wanted."""

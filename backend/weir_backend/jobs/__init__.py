"""Jobs, the numbered versions of their specs, and the verbs that change the desired state."""

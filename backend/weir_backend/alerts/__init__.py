"""Rules that say when a job needs a person, and what they have found."""

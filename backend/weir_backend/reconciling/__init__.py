"""From what is wanted of a job and what is known of it to the next thing to do: decided purely, carried out by workers."""

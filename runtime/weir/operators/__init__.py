"""The operators, their contract, and the partitioners between them."""

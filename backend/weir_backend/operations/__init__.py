"""Operations: asynchronous requests of users and their outcomes. Each ends at its deadline at the latest."""

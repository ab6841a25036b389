"""Operations: asynchronous requests of users and their outcomes. Each operation ends at its deadline at the latest."""

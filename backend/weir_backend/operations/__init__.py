"""Operations: asynchronous requests of users. Each ends at its deadline at the latest."""

"""The control link: receives events from drivers and delivers commands to them."""

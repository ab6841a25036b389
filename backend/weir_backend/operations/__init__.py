"""What somebody has asked for and takes its time: each is over at its deadline at the latest."""

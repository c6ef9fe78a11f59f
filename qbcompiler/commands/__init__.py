"""The commands, by what they do; each is imported when it runs."""

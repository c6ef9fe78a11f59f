"""Real networks and data for tests, fetched by package name and version; nothing of others is kept here."""

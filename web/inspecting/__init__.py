"""Looking into recorded sessions over HTTP: what the pages at /sessions/ read, for operators only."""

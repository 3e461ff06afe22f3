"""What the pages show of a session: its events as rows, its course as a timeline, its sound as peaks."""

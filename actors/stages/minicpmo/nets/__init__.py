"""MiniCPM-o's parts in plain torch."""

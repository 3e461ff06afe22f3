"""What a second of listening or speaking costs a language model that hears in units: see __main__.py."""

"""Seeded campaigns against the segment store: `python -m bench.campaigns`. See docs/reliability.md."""

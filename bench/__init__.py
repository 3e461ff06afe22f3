"""Figures: what a conversation costs, and how that compares."""

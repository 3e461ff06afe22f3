"""MiniCPM-o: a model that hears a second at a time and decides with each whether it speaks."""

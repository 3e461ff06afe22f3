"""A chat server in the language model's place: OpenAI-compatible, text only, somewhere else."""

"""A stage that recognises an utterance, writes an answer and speaks it: three models in a row."""

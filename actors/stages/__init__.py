"""The engines behind the sessions, one package each, and the contract they fill."""

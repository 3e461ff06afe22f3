"""The stage's side of the contract: what every engine shares."""

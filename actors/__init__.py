"""Who acts: the pure session core, the actors around it, and the stage engines. Imports events."""

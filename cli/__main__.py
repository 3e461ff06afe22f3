"""`python -m antiphon.cli` is `antiphon`."""

from .main import main

main()

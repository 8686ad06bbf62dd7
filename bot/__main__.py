"""`python -m bot` is `oboete`."""

from bot.cli import main

main()

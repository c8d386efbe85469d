"""`python -m catena`: the command line, where the command `catena` is not on the PATH."""

from catena.cli import main

main(prog_name="catena")

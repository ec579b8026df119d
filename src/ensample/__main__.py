"""`python -m ensample` is the command `ensample`."""

from ensample.cli.main import main

if __name__ == "__main__":
    main()

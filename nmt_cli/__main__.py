"""`python -m nmt_cli`: the same program as the console script `nmt`."""

from nmt_cli.cli import main

if __name__ == "__main__":
    main()

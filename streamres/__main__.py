"""`python -m streamres` is `streamres`."""

from streamres.cli import main

if __name__ == "__main__":
    main()

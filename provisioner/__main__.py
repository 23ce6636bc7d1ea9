"""``python -m provisioner`` is the command line."""

from provisioner.cli import main

if __name__ == "__main__":
    main()

"""The one exception that is meant for the person at the keyboard."""


class BadInput(Exception):
    """Something given to Replog cannot be used: a file, a value, a name, a folder.

    The text is one clear line: where it is (file, line or path), what is wrong, what is allowed.
    The command line prints it on stderr and exits with status 2; nothing is left half-written.
    """

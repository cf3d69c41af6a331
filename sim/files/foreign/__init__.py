"""Escaping of foreign text, so that it is shown as text and does nothing else.

Keys, values, ids, titles, names of files, words of a command line and messages of plugins may
contain anything: control sequences that move a cursor, marks that reverse the direction of text,
the end of a table, a script. Each module is for one kind of output: `lines` for a terminal or a
line of a file, `documents` for JSON, `html` and `markdown` for pages, `shell` for commands to
paste, `names` for names of files. Output for machines stays exact: JSON and YAML escape such
characters in their own way and read back to the same.
"""

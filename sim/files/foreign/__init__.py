"""Foreign text, shown so that it is text and nothing else, wherever it is shown.

Keys, values, ids, titles, names of files, words of a command line and what plugins say may hold
anything: what moves a cursor, reverses what stands beside it, ends a table, begins a script. Each
module knows one place to show it: `lines` a terminal or a line of a file, `documents` JSON,
`markdown` a page, `shell` a command to paste, `names` a file's name. What is for machines stays
exact: JSON and YAML escape such characters in their own way and read back to the same.
"""

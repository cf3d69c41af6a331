"""One run, looked into: why it failed, what avoids it, its shortest form, its picture."""

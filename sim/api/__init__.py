"""The interface of `import sim` for notebooks and scripts: values that show themselves.

`sim` itself exports the names. Every value has a `repr` of one line and, for Jupyter, HTML
without JavaScript and without colours of its own, so that it can be read in dark and light. What
takes long to import (pydantic, SimPy, pandas) is imported when it is needed.
"""

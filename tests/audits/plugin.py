"""`--plugin tests.audits.plugin`: every run of a command is audited."""

from tests.audits.registering import register

register()

"""Log files: one cleaner, one log and a few steps, without a cluster (`replog clean`)."""

from sim.logfile.answer import answer, answer_to
from sim.logfile.file import LOG_FORMAT, LogFile, load_log_file, log_file_from

__all__ = ["LOG_FORMAT", "LogFile", "answer", "answer_to", "load_log_file", "log_file_from"]

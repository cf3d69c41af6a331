"""Suites: any scenario file, story, timed or log, to a result with what was expected of it."""

from sim.study.suite.cases import BAD_INPUT, ERROR, CaseResult, exit_code, run_suite
from sim.study.suite.scenario_files import Collected, collect, format_of, scenario_files

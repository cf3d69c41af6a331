"""Explanations of violations: the fact that decided, the events that led there, the cause."""

from sim.diagnose.explain.text import ExplanationText, explanation

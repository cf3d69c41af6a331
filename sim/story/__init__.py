"""Stories: scripted steps through the pure core, for design discussions and counterexamples."""

from sim.story.driver import StoryRun, tell
from sim.story.format import Story, load_story

__all__ = ["Story", "StoryRun", "load_story", "tell"]

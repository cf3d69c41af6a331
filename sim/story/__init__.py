"""Stories: scripted steps through the pure core, for design discussions and counterexamples."""

from sim.story.driver import tell
from sim.story.format import Story, load_story
from sim.story.outcome import StoryRun

__all__ = ["Story", "StoryRun", "load_story", "tell"]

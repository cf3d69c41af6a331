"""Stories: scripted steps through the pure core, for design discussions and counterexamples."""

from sim.story.driver import run_story
from sim.story.format import Story, load_story
from sim.story.result import StoryRun

"""Stories: scripted steps through the pure core, for design discussions and counterexamples."""

from sim.simulate.story.driver import run_story
from sim.simulate.story.format import Story, load_story
from sim.simulate.story.result import StoryRun

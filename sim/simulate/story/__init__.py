"""Stories: scripted steps through the pure core, for design discussions and counterexamples."""

from sim.simulate.story.format import Story, load_story

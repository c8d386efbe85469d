"""Robots to look at: one description of a scene, drawn as pictures, or as a page in the browser."""

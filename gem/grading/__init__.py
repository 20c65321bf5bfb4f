"""Grades answers: to mathematical problems (`math`), to questions (`answers`), and programs under tests (`code`)."""

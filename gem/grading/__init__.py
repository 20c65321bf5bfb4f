"""Whether answers are correct: mathematics (`math`), short answers to questions (`answers`)."""

"""What one does with an evaluation that has been played: name and file it, archive it, delete it."""

"""How results look: figures, words and numbers, PDF."""

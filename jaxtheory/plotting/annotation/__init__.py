"""What is written on a drawing? Captions, names beside curves, marks, and shared labels."""

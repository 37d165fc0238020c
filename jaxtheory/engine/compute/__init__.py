"""What does one chunk compute? The compiled programs and the loop that trains."""

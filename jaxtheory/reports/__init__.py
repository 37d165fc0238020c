"""What does a run leave behind? Drawings, records and the page made of them."""

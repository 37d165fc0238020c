"""What does a run leave behind? Drawings, records and a page that shows them."""

"""What `scripts/torture` is made of; see there."""

"""What programs cost at least, by the roofline model."""

"""Planning of layouts."""

"""Assignment of layouts."""

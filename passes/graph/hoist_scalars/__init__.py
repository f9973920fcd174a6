"""Scale factors moved through linear operations."""

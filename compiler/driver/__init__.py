"""Driver of the compiler: parsing, pass pipelines, diagnostics."""

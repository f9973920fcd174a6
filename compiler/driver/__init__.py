"""The pass driver: parsing, pipelines, diagnostics."""

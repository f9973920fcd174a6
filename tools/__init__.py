"""
Command-line tools: `tlf-opt`, `tlf-run`, `tlf-explain`, `tlf-import`, `tlf-plan` and
`tlf-bench`.
"""

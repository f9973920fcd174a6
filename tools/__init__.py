"""
Command-line tools: `tlf` and its subcommands, which also are commands: `tlf-opt`,
`tlf-run`, `tlf-explain`, `tlf-import`, `tlf-plan` and `tlf-bench`.
"""

"""Why a program is planned as it is: costs, bounds, memory, and what else there was."""

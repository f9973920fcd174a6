"""How mem programs become NPU programs: addresses, instructions, synchronisation."""

"""Lower mem programs to NPU programs: addresses, instructions, synchronisation."""

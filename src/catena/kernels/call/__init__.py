"""From a Python call to machine code: arguments, results, batches, threads."""

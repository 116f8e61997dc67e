"""Before the first step: when and where. Synchronisation, calibration, and the choice of moments."""

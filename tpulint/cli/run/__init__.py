"""`tpulint run`: runs an unmodified TPU program on this CPU, and reports what crossed the seam."""

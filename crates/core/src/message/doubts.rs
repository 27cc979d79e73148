//! What doubts say, and their remedies.

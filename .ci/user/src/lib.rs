//! What is tested here stands beside its tests.

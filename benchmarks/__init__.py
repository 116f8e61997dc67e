"""Accuracy, time and memory. Times are ratios to DeepFlow on the same pair in the same run."""

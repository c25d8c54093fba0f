"""The laws of the paper, one file each; every draw takes its generator as an argument."""

"""Measurements that `make bench` prints; nothing here is a test, and no limit is on a time."""

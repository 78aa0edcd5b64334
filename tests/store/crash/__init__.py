"""The store in a file under a kill and a power cut."""

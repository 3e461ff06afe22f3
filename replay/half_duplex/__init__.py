"""A half-duplex call as the folder that the MiniCPM-o demo records, made of the log when it is asked for."""

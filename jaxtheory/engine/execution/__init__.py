"""Where does a chunk run on this machine? Threads, processes and progress."""

"""Records of a job's libraries: RAS and Flight Recorder."""

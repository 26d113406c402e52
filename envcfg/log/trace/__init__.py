"""Records of a job's libraries: RAS, Flight Recorder, Inspector."""

"""What a job's libraries recorded of themselves: RAS, Flight Recorder, Inspector."""

"""From a job script that somebody has to the options of ``wrap`` that do the same."""

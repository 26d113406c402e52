"""ReFrame's configuration for LUMI-G: one partition, jobs by Slurm, ranks by envcfg."""

site_configuration = {
    "systems": [
        {
            "name": "lumi",
            "hostnames": [r"uan\d+", "login"],
            "partitions": [
                {
                    "name": "gpu",
                    # "slurm" where there is accounting; "squeue" needs none
                    "scheduler": "squeue",
                    # the test's command runs in the batch script, as it starts srun itself
                    "launcher": "local",
                    "access": [
                        "--account=project_465000001",
                        "--partition=standard-g",
                        "--gpus-per-node=8",
                        "--mem=480G",
                    ],
                    "environs": ["builtin"],
                }
            ],
        }
    ],
}

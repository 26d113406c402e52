// Not run by the tests of envcfg, as Nextflow could not be had there; the script of TRAIN was.
process TRAIN {
    label 'ranks'

    input:
    path data
    path program

    output:
    path 'model.txt'

    // A dollar of bash is written \$ here.
    script:
    """
    source <(envcfg wrap --profile lumi-g --container '${params.image}' -- python3 ${program} ${data} model.txt || echo exit \$?)
    """
}

workflow {
    TRAIN(file('data.txt'), file('train.py'))
}

from postprocess.cli import main

main()

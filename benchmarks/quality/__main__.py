from benchmarks.quality import command

command()

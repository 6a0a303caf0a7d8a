"""Tables and figures on demand: ``python -m odsymnmf.reproduce NAME --out DIR``."""

"""Messages of the library in the words of the command line: options instead of arguments."""

import re

import click

__all__ = ["in_options"]

# Arguments of the library that are no parameter of a command under their own name.
OTHERS = {"r": "-r", "candidates": "-r"}
# Memberships are kept by their non-zeros with --many.
PHRASES = {
    'use memberships="full"': "leave --many out",
    'leave memberships="full" out': "give --many",
    'memberships="sparse"': "--many",
    'memberships="full"': "no --many",
    "sparse memberships": "the memberships of --many",
}
# A name, and perhaps its value: "text", a number, or nothing.
GIVEN = r"(?<![\w.\[\"'-])({names})=(\"[^\"]*\"|'[^']*'|[\w.+-]*[\w])?"
# A word such as `loss` is an argument at the beginning of a sentence about what it must be.
SUBJECT = r"(?<![\w.\[\"'-])({names})(?= (?:must|has|holds|begin)\b)"
# One with an underscore is never a word of English.
UNDERSCORED = r"(?<![\w.\[\"'-])({names})(?![\w(])"


def in_options(message: str, command: click.Command) -> str:
    """Return a message of the library with the options of a command in place of arguments.

    Examples
    --------
    >>> from odsymnmf.cli.cluster import cluster
    >>> in_options('random_state=-1 is not known; use max_iter=5 or loss="l1".', cluster)
    '--seed -1 is not known; use --max-iter 5 or --loss l1.'
    >>> in_options("n_jobs must be a whole number >= 1; upper must be > 0.", cluster)
    '--n-jobs must be a whole number >= 1; --upper must be > 0.'
    """
    options = OTHERS | {
        parameter.name: max(parameter.opts, key=len)
        for parameter in command.params
        if isinstance(parameter, click.Option) and parameter.name
    }
    for phrase, words in PHRASES.items() if "many" in options else ():
        message = message.replace(phrase, words)

    def option(found: re.Match[str]) -> str:
        value = found[2].strip("\"'") if found.re.groups > 1 and found[2] else ""
        return f"{options[found[1]]} {'none' if value == 'None' else value}".rstrip()

    underscored = [name for name in options if "_" in name]
    for pattern, names in ((GIVEN, options), (SUBJECT, options), (UNDERSCORED, underscored)):
        if names:
            message = re.sub(pattern.format(names="|".join(names)), option, message)
    return message

"""``speclog completion``: the shell's own script that completes commands, runs, profiles and queries."""

import click
from click.shell_completion import get_completion_class


@click.command("completion", epilog='Example: eval "$(speclog completion bash)"   # in ~/.bashrc')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that lets SHELL complete speclog's commands, options, runs, profiles and queries.

    bash (4.4 or newer) and zsh: eval it in ~/.bashrc or ~/.zshrc. fish: `speclog completion fish >
    ~/.config/fish/completions/speclog.fish`. Runs are those of --store as typed, or of SPECLOG_STORE.
    """
    root = ctx.find_root().command
    made = get_completion_class(shell)
    assert made is not None  # all three are click's own
    click.echo(made(root, {}, "speclog", "_SPECLOG_COMPLETE").source())

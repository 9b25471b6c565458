//! `completions` and `man`: generated from the same definition that parses the command line.

use clap::Args;
use clap_complete::Shell;

use super::failure::Failure;
use super::output;

/// Which shell.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints a completion script.
pub fn run(args: &CompletionsArgs, mut command: clap::Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "payout-ledger", &mut script);
    output::line(String::from_utf8_lossy(&script).trim_end())
}

/// Prints the manual page.
pub fn man(command: clap::Command) -> Result<(), Failure> {
    let mut page = Vec::new();
    output::finish(clap_mangen::Man::new(command).render(&mut page))?;
    output::line(String::from_utf8_lossy(&page).trim_end())
}

//! How a command ends when it does not end well: one line on standard error and one of the contract's exit codes.

use std::process::ExitCode;

/// Why a command stopped. The text is one clear line that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The check found something (exit 1). The findings were already printed; the text sums them up.
    #[error("{0}")]
    Found(String),
    /// The command line or its input is wrong (exit 2).
    #[error("{0}")]
    Usage(String),
    /// Port, database, network: the surroundings (exit 3).
    #[error("{0}")]
    Environment(String),
}

impl Failure {
    /// The exit code of the command-line contract.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Found(_) => ExitCode::from(1),
            Self::Usage(_) => ExitCode::from(2),
            Self::Environment(_) => ExitCode::from(3),
        }
    }
}

//! The environment and the terminal, read once when the program starts and
//! passed down as data. Nothing else reads them.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::SystemTime;

/// Columns where there is no terminal to ask: logs of CI systems are wide.
const WIDTH_WITHOUT_TERMINAL: usize = 120;

/// What the program finds around itself.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The current folder.
    pub cwd: PathBuf,
    /// The folders of PATH, in order.
    pub path: Vec<PathBuf>,
    /// This program.
    pub wirefault: PathBuf,
    /// The source tree that this program was built from.
    pub built_from: PathBuf,
    /// Where what can be made again is kept: `wirefault` in the user's folder for
    /// such things; none where the environment names no such folder.
    pub cache: Option<PathBuf>,
    /// Columns of the terminal.
    pub width: usize,
    /// Whether results go to a terminal.
    pub stdout_is_terminal: bool,
    /// Whether messages go to a terminal.
    pub stderr_is_terminal: bool,
    /// Whether the environment asks for no colour (NO_COLOR, TERM=dumb).
    pub no_color: bool,
    /// Wall time at the start.
    pub now: SystemTime,
    /// A number that differs from run to run: the seed where none is given.
    pub entropy: u32,
    /// What to log for debugging (WIREFAULT_LOG).
    pub log: Option<String>,
}

impl Surroundings {
    /// Reads all of it.
    ///
    /// # Errors
    /// When the current folder or the program's own file cannot be told.
    pub fn read() -> std::io::Result<Self> {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let columns = set("COLUMNS").and_then(|text| text.parse().ok());
        Ok(Self {
            cwd: std::env::current_dir()?,
            path: std::env::var_os("PATH")
                .map(|path| std::env::split_paths(&path).collect())
                .unwrap_or_default(),
            wirefault: std::env::current_exe()?,
            built_from: built_from(),
            cache: cache(),
            width: columns
                .or_else(terminal_width)
                .unwrap_or(WIDTH_WITHOUT_TERMINAL)
                .max(40),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            no_color: set("NO_COLOR").is_some() || set("TERM").is_some_and(|term| term == "dumb"),
            now: SystemTime::now(),
            entropy: entropy(),
            log: set("WIREFAULT_LOG"),
        })
    }
}

fn built_from() -> PathBuf {
    let crate_folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    crate_folder
        .parent()
        .map_or_else(|| crate_folder.clone(), PathBuf::from)
}

/// The XDG Base Directory Specification passes over what is no whole path.
/// A folder that everybody can write to is none: what lies there is started.
fn cache() -> Option<PathBuf> {
    let folder = |name| {
        let folder = std::env::var_os(name).map(PathBuf::from);
        folder.filter(|folder| folder.is_absolute())
    };
    let folder =
        folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")));
    folder.map(|folder| folder.join("wirefault"))
}

fn terminal_width() -> Option<usize> {
    let stdout = std::io::stdout();
    let size = rustix::termios::tcgetwinsize(&stdout).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// The standard library seeds its hash maps from the system's randomness; that
/// is where these bits come from.
fn entropy() -> u32 {
    use std::hash::{BuildHasher, Hasher};
    let hash = std::hash::RandomState::new().build_hasher().finish();
    // Half of the bits, so that the seed is a number that any JSON reader keeps.
    (hash >> 32) as u32
}

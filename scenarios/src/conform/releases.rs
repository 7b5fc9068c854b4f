//! Releases of ZooKeeper besides Debian's, in a cache folder. `vivarium findings --get RELEASE` downloads them once.
//!
//! Each source package of `pyspark` contains a ZooKeeper with all that it needs, so `pip` downloads it from its
//! configured index.

use super::{ConformError, Installation};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use vivarium_model::release::{Bug, Bugs, Release};

/// Debian's release, which is installed and not downloaded.
pub(super) const INSTALLED: &str = "3.8.0";

/// The releases with which the model is compared.
pub const COMPARED: [&str; 4] = ["3.4.14", "3.6.3", INSTALLED, "3.9.5"];

/// Returns the defects of a release as it can be started here; `None` if there is no such release. Debian's package has a
/// later security repair: it withholds watch events from clients that may not read (ZOOKEEPER-4799, CVE-2024-23944).
pub fn defects(release: &str) -> Option<Bugs> {
    let bugs = Release::named(release)?.bugs();
    Some(if release == INSTALLED { bugs.without(Bug::EventsAskNoAcl) } else { bugs })
}

/// The releases that can be downloaded, each with the package that contains it and the package's size.
const CARRIED: [Carried; 3] = [
    Carried { release: "3.4.14", package: "3.1.3", megabytes: 214 },
    Carried { release: "3.6.3", package: "3.5.9", megabytes: 318 },
    Carried { release: "3.9.5", package: "4.3.0", megabytes: 456 },
];

/// The jars that ZooKeeper needs, by the beginnings of their names; a package has hundreds more.
const NEEDED: [&str; 11] = [
    "zookeeper",
    "slf4j-api",
    "slf4j-log4j",
    "log4j",
    "netty",
    "metrics-core",
    "snappy-java",
    "commons-",
    "jackson-",
    "audience-annotations",
    "jline",
];

/// The settings that make a server write its log to its standard output, which runs of findings read: for log4j 2, and
/// for log4j 1, which 3.4 uses.
const LOGGING: [(&str, &str); 2] = [("log4j2.properties", LOG4J_2), ("log4j.properties", LOG4J_1)];

const LOG4J_2: &str = "rootLogger.level = info
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c %m%n
";

const LOG4J_1: &str = "log4j.rootLogger = INFO, console
log4j.appender.console = org.apache.log4j.ConsoleAppender
log4j.appender.console.layout = org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern = %d %p %c %m%n
";

/// A release and the package that contains it.
#[derive(Clone, Copy, Debug)]
struct Carried {
    release: &'static str,
    /// The version of `pyspark`.
    package: &'static str,
    megabytes: u32,
}

impl Carried {
    fn named(release: &str) -> Result<&'static Carried, ConformError> {
        let found = CARRIED.iter().find(|carried| carried.release == release);
        found.ok_or_else(|| ConformError::UnknownRelease(release.to_owned(), known()))
    }

    /// Returns the release's folder, which may not exist yet.
    fn folder(&self, cache: &Path) -> PathBuf {
        cache.join(format!("zookeeper-{}", self.release))
    }

    fn is_there(&self, cache: &Path) -> bool {
        self.folder(cache).join(format!("zookeeper-{}.jar", self.release)).is_file()
    }

    /// Returns the class path. The folder itself comes first, because it contains the logging settings.
    fn class_path(&self, cache: &Path) -> OsString {
        let folder = self.folder(cache);
        let mut paths = folder.clone().into_os_string();
        paths.push(":");
        paths.push(folder.join("*"));
        paths
    }
}

/// Lists the names of all available releases.
fn known() -> String {
    let names = CARRIED.iter().map(|carried| carried.release).chain([INSTALLED]);
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.join(", ")
}

/// Returns the directory of releases: `vivarium` in the user's cache folder.
fn cache() -> Result<PathBuf, ConformError> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").map(|home| home.join(".cache"));
    let cache = set("XDG_CACHE_HOME").or_else(home).ok_or(ConformError::NoCache)?;
    Ok(cache.join("vivarium"))
}

impl Installation {
    /// Finds a release of ZooKeeper: Debian's, or one that was downloaded before ([`get`]).
    ///
    /// # Errors
    /// Fails if the release is unknown or missing, or if there is no Java.
    pub fn of_release(release: &str) -> Result<Installation, ConformError> {
        if release == INSTALLED {
            return Installation::find();
        }
        let (carried, cache) = (Carried::named(release)?, cache()?);
        if !carried.is_there(&cache) {
            let Carried { release, megabytes, .. } = carried;
            return Err(ConformError::NotGot { release, megabytes: *megabytes, cache });
        }
        Installation::with_paths(carried.class_path(&cache))
    }
}

/// Downloads a release of ZooKeeper into the cache folder and returns its folder. Does nothing if the release exists
/// already; else calls `begins` with the size of the download in megabytes.
///
/// # Errors
/// Fails if the release is unknown, or if `pip` or `tar` is missing or fails.
pub fn get(release: &str, begins: impl FnOnce(u32)) -> Result<PathBuf, ConformError> {
    if release == INSTALLED {
        return Err(ConformError::Installed(INSTALLED));
    }
    let (carried, cache) = (Carried::named(release)?, cache()?);
    let folder = carried.folder(&cache);
    if carried.is_there(&cache) {
        return Ok(folder);
    }
    begins(carried.megabytes);
    fs::create_dir_all(&cache).map_err(ConformError::Get)?;
    // In the cache folder, so that a rename can move the result.
    let work = TempDir::with_prefix_in("get-", &cache).map_err(ConformError::Get)?;
    let name = format!("pyspark-{}", carried.package);
    let wanted = format!("pyspark=={}", carried.package);
    let pip = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", &wanted];
    run("python3", &pip, work.path())?;
    let archive = format!("{name}.tar.gz");
    run("tar", &["-xzf", &archive, &format!("{name}/deps/jars")], work.path())?;
    let jars = work.path().join("jars");
    keep_needed(&work.path().join(&name).join("deps/jars"), &jars).map_err(ConformError::Get)?;
    for (file, settings) in LOGGING {
        fs::write(jars.join(file), settings).map_err(ConformError::Get)?;
    }
    // Removes the remains of an earlier attempt.
    let _ = fs::remove_dir_all(&folder);
    fs::rename(&jars, &folder).map_err(ConformError::Get)?;
    match carried.is_there(&cache) {
        true => Ok(folder),
        false => Err(ConformError::NotCarried { release: carried.release, package: wanted }),
    }
}

/// Moves the jars that are needed.
fn keep_needed(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        let words = name.to_string_lossy();
        if NEEDED.iter().any(|beginning| words.starts_with(beginning)) {
            fs::rename(from.join(&name), to.join(&name))?;
        }
    }
    Ok(())
}

fn run(program: &str, arguments: &[&str], directory: &Path) -> Result<(), ConformError> {
    let status = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .status()
        .map_err(ConformError::Get)?;
    match status.success() {
        true => Ok(()),
        false => {
            let command = format!("{program} {}", arguments.join(" "));
            Err(ConformError::CommandFailed { command, status: status.to_string() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_release_is_told_with_those_that_are_known() {
        let error = Installation::of_release("3.9").expect_err("it is none").to_string();
        assert_eq!(error, "unknown ZooKeeper release `3.9`: there are 3.4.14, 3.6.3, 3.8.0, 3.9.5");
    }

    #[test]
    fn a_release_is_there_when_its_jar_is() {
        let cache = TempDir::new().expect("a folder");
        let carried = Carried::named("3.9.5").expect("it is known");
        assert!(!carried.is_there(cache.path()));
        let folder = carried.folder(cache.path());
        fs::create_dir_all(&folder).expect("it is made");
        fs::write(folder.join("zookeeper-3.9.5.jar"), "").expect("it is written");
        assert!(carried.is_there(cache.path()));
        let class_path = carried.class_path(cache.path());
        let folder = folder.display();
        assert_eq!(class_path.to_string_lossy(), format!("{folder}:{folder}/*"));
    }

    #[test]
    fn only_what_is_needed_is_kept() {
        let place = TempDir::new().expect("a folder");
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        fs::create_dir(&from).expect("it is made");
        for name in ["zookeeper-3.9.5.jar", "zookeeper-jute-3.9.5.jar", "spark-core.jar"] {
            fs::write(from.join(name), "").expect("it is written");
        }
        keep_needed(&from, &to).expect("they are moved");
        let entries = fs::read_dir(to).expect("it is there");
        let mut names: Vec<OsString> =
            entries.map(|entry| entry.expect("a file").file_name()).collect();
        names.sort();
        assert_eq!(names, ["zookeeper-3.9.5.jar", "zookeeper-jute-3.9.5.jar"]);
    }
}

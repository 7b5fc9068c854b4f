//! Where Java and ZooKeeper are on this machine.

use super::ConformError;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// ZooKeeper's jar as Debian installs it. It names all that it needs in its manifest.
const JAR: &str = "/usr/share/java/zookeeper.jar";

/// What writes the log to the standard error output; servers run without it, silently.
const LOGGER: &str = "/usr/share/java/slf4j-simple.jar";

/// A Java and a ZooKeeper that can be started.
#[derive(Clone, Debug)]
pub struct Installation {
    /// The program `java`.
    pub java: PathBuf,
    /// Java's class path with ZooKeeper in it; another release can be put here, as
    /// `/opt/zookeeper/lib/*`.
    pub class_path: OsString,
}

impl Installation {
    /// Finds what the package `zookeeper` of Debian and its relatives installs.
    pub fn find() -> Result<Installation, ConformError> {
        let java = find_java().ok_or(ConformError::NoJava)?;
        Installation::of(java, Path::new(JAR))
    }

    /// Another ZooKeeper, compiled or unpacked somewhere: `class_path` has all that it needs, as
    /// `/opt/zookeeper/lib/*`.
    ///
    /// # Errors
    /// There is no Java.
    pub fn with_class_path(class_path: &str) -> Result<Installation, ConformError> {
        let java = find_java().ok_or(ConformError::NoJava)?;
        // The first logger that is found is taken, and this one says what runs of findings wait for.
        let class_path = match Path::new(LOGGER).is_file() {
            true => format!("{LOGGER}:{class_path}"),
            false => class_path.to_owned(),
        };
        Ok(Installation { java, class_path: class_path.into() })
    }

    /// The same, and nothing is added to it.
    pub(super) fn with_paths(class_path: OsString) -> Result<Installation, ConformError> {
        let java = find_java().ok_or(ConformError::NoJava)?;
        Ok(Installation { java, class_path })
    }

    fn of(java: PathBuf, jar: &Path) -> Result<Installation, ConformError> {
        if !jar.is_file() {
            return Err(ConformError::NoZooKeeper(jar.display().to_string()));
        }
        let jars = [jar, Path::new(LOGGER)];
        let class_path = env::join_paths(jars.iter().filter(|jar| jar.is_file()))
            .expect("these paths have no colon");
        Ok(Installation { java, class_path })
    }
}

/// `java` of `JAVA_HOME`, or else on the path.
fn find_java() -> Option<PathBuf> {
    let home = env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    home.into_iter()
        .chain(env::split_paths(&path))
        .map(|directory| directory.join("java"))
        .find(|java| java.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_package_is_told_with_how_to_install_it() {
        let missing = Installation::of("java".into(), Path::new("/nowhere/zookeeper.jar"));
        let error = missing.expect_err("there is no such jar").to_string();
        assert!(error.contains("/nowhere/zookeeper.jar is missing"), "{error}");
        assert!(error.contains("apt-get install zookeeper"), "{error}");
    }
}

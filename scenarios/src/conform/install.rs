//! Locates Java and ZooKeeper on this machine.

use super::ConformError;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// ZooKeeper's jar as Debian installs it. Its manifest names all jars that it needs.
const JAR: &str = "/usr/share/java/zookeeper.jar";

/// The logger that writes to the standard error output. Without it, servers run silently.
const LOGGER: &str = "/usr/share/java/slf4j-simple.jar";

/// A Java and a ZooKeeper that can be started.
#[derive(Clone, Debug)]
pub struct Installation {
    /// The program `java`.
    pub java: PathBuf,
    /// Java's class path with ZooKeeper, such as `/opt/zookeeper/lib/*` for another release.
    pub class_path: OsString,
}

impl Installation {
    /// Finds the installation of the package `zookeeper` of Debian and its derivatives.
    pub fn find() -> Result<Installation, ConformError> {
        let java = find_java().ok_or(ConformError::NoJava)?;
        Installation::of(java, Path::new(JAR))
    }

    /// Uses another ZooKeeper, compiled or unpacked elsewhere. `class_path` contains everything that it needs, such as
    /// `/opt/zookeeper/lib/*`.
    ///
    /// # Errors
    /// Fails if there is no Java.
    pub(crate) fn with_class_path(class_path: &str) -> Result<Installation, ConformError> {
        let java = find_java().ok_or(ConformError::NoJava)?;
        // Java takes the first logger on the class path, and this one writes the lines that runs of findings wait for.
        let class_path = match Path::new(LOGGER).is_file() {
            true => format!("{LOGGER}:{class_path}"),
            false => class_path.to_owned(),
        };
        Ok(Installation { java, class_path: class_path.into() })
    }

    /// Like [`Installation::with_class_path`], but adds nothing to the class path.
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

/// Finds `java` in `JAVA_HOME`, or else on the path.
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

//! The password file of libpq: `host:port:database:user:password`, one line each, the first that fits.

use std::fs::File;
use std::path::PathBuf;

use super::url::{StoreUrl, Variables};
use crate::platform;
use crate::workspace::durable;

/// No password file is longer than this.
const LONGEST: u64 = 1 << 20;

/// Returns the password for this place, from `file` or from the usual one. As libpq has it, a file that cannot be read
/// or that others may read is passed over.
pub(super) fn find(
    url: &StoreUrl,
    file: Option<PathBuf>,
    variables: Variables<'_>,
) -> Option<String> {
    let usual = || variables("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
    let path = file.or_else(usual)?;
    // Links are followed: that is how Kubernetes mounts secrets.
    let file = File::open(path).ok()?;
    if !platform::place::is_private(&file.metadata().ok()?) {
        return None;
    }
    let bytes = durable::read_open(file, LONGEST).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    url.hosts.iter().enumerate().find_map(|(at, host)| {
        // A socket in its usual folder is called localhost there.
        let host = if host == "/var/run/postgresql" || host == "/tmp" {
            "localhost"
        } else {
            host
        };
        let wanted = [
            host.to_owned(),
            url.port(at).to_string(),
            url.database.clone(),
            url.user.clone(),
        ];
        text.lines()
            .filter(|line| !line.starts_with('#'))
            .find_map(|line| password_of(line, &wanted))
    })
}

/// Returns the password of a line that fits.
fn password_of(line: &str, wanted: &[String; 4]) -> Option<String> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => field.extend(chars.next()),
            // The password is the rest, whatever is in it.
            ':' if fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    let fits = |(found, wanted): (&String, &String)| found == "*" || found == wanted;
    (fields.len() == 4 && fields.iter().zip(wanted).all(fits)).then_some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_counts_and_stars_fit_all() {
        let wanted = ["h", "5432", "d", "u"].map(str::to_owned);
        assert_eq!(
            password_of("h:5432:d:u:s:e\\:c", &wanted).as_deref(),
            Some("s:e:c")
        );
        assert_eq!(password_of("*:*:*:u:p", &wanted).as_deref(), Some("p"));
        assert_eq!(password_of("*:*:*:v:p", &wanted), None);
        assert_eq!(password_of("h:5432:d", &wanted), None);
    }
}

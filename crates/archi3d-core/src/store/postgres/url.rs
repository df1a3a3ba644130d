//! Where the store is: a URL or `key=value` words as libpq reads them, with the `PG*` variables and the password file.
//!
//! The client knows only half of libpq's words and refuses the rest, so they are read here. Nothing that is shown of a
//! [`StoreUrl`] has the password in it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::error::{PgError, PgResult};
use super::passfile;

/// How the connection is secured, in libpq's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SslMode {
    /// No TLS.
    Disable,
    /// TLS if the server has it; nothing is verified.
    Prefer,
    /// TLS; the certificate is verified only if a root certificate is named.
    Require,
    /// TLS, and the certificate is signed by a known authority.
    VerifyCa,
    /// The same, and it is made out to this host.
    VerifyFull,
}

/// What a connection has to be good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Session {
    /// Anything.
    Any,
    /// Writing.
    ReadWrite,
    /// Reading only.
    ReadOnly,
}

/// Whether the login is tied to the TLS connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelBinding {
    /// Never.
    Disable,
    /// If both sides can.
    Prefer,
    /// Always.
    Require,
}

/// Where the store is and how to get in.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    /// Hosts in the order in which they are tried; a path is the folder of a socket.
    pub hosts: Vec<String>,
    /// Their ports, one for all or one each.
    pub ports: Vec<u16>,
    /// The user.
    pub user: String,
    /// The database.
    pub database: String,
    /// How the connection is secured.
    pub ssl_mode: SslMode,
    /// The authorities to believe; `system` means those of the machine.
    pub root_cert: Option<String>,
    /// Our own certificate.
    pub cert: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
    /// Whether the login is tied to the TLS connection.
    pub channel_binding: ChannelBinding,
    /// What the server must be good for.
    pub session: Session,
    /// How long connecting to one host may take.
    pub connect_timeout: Duration,
    /// Words for the server's command line.
    pub options: Option<String>,
    /// Whether prepared statements may be used; nothing means: find out.
    pub prepare: Option<bool>,
    password: Option<String>,
}

/// Reads one variable of the environment.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Words of libpq that say nothing to us.
const PASSED_OVER: &[&str] = &[
    "application_name",
    "fallback_application_name",
    "client_encoding",
    "gssencmode",
    "gssdelegation",
    "krbsrvname",
    "gsslib",
    "sslcompression",
    "sslsni",
    "sslcrl",
    "sslcrldir",
    "ssl_min_protocol_version",
    "ssl_max_protocol_version",
    "sslnegotiation",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_count",
    "tcp_user_timeout",
    "load_balance_hosts",
    "pgbouncer",
];

/// Words we know, each with the variable that stands in for it.
const KNOWN: &[(&str, Option<&str>)] = &[
    ("host", Some("PGHOST")),
    ("hostaddr", Some("PGHOSTADDR")),
    ("port", Some("PGPORT")),
    ("user", Some("PGUSER")),
    ("password", Some("PGPASSWORD")),
    ("passfile", Some("PGPASSFILE")),
    ("dbname", Some("PGDATABASE")),
    ("sslmode", Some("PGSSLMODE")),
    ("sslrootcert", Some("PGSSLROOTCERT")),
    ("sslcert", Some("PGSSLCERT")),
    ("sslkey", Some("PGSSLKEY")),
    ("channel_binding", Some("PGCHANNELBINDING")),
    ("target_session_attrs", Some("PGTARGETSESSIONATTRS")),
    ("connect_timeout", Some("PGCONNECT_TIMEOUT")),
    ("options", Some("PGOPTIONS")),
    ("prepare", None),
];

impl StoreUrl {
    /// Reads a URL or `key=value` words. `variables` stand in for what it leaves out; `user` is who runs the program.
    pub fn parse(text: &str, variables: Variables<'_>, user: &str) -> PgResult<Self> {
        let text = text.trim();
        let scheme = ["postgresql://", "postgres://"]
            .into_iter()
            .find_map(|scheme| text.strip_prefix(scheme));
        let mut words = match scheme {
            Some(rest) => url_words(rest)?,
            None if text.contains("://") => {
                return Err(refuse(
                    "it begins neither with postgresql:// nor with postgres://",
                ));
            }
            None => plain_words(text)?,
        };
        for name in words.keys() {
            let known =
                KNOWN.iter().any(|(word, _)| word == name) || PASSED_OVER.contains(&name.as_str());
            if !known {
                return Err(refuse(&format!(
                    "it has the parameter {name:?}, which is unknown"
                )));
            }
        }
        for (word, variable) in KNOWN {
            let value = variable
                .and_then(variables)
                .filter(|value| !value.is_empty());
            if let Some(value) = value {
                words.entry((*word).to_owned()).or_insert(value);
            }
        }
        Self::of(&words, variables, user)
    }

    fn of(
        words: &BTreeMap<String, String>,
        variables: Variables<'_>,
        user: &str,
    ) -> PgResult<Self> {
        let word = |name: &str| {
            words
                .get(name)
                .map(String::as_str)
                .filter(|value| !value.is_empty())
        };
        let user = word("user").unwrap_or(user).to_owned();
        let list = |name: &str| -> Vec<String> {
            let value = word(name).unwrap_or_default();
            value
                .split(',')
                .map(|one| one.trim().to_owned())
                .filter(|one| !one.is_empty())
                .collect()
        };
        let mut hosts = list("host");
        if hosts.is_empty() {
            hosts = list("hostaddr");
        }
        if hosts.is_empty() {
            hosts.push(default_host());
        }
        let ports = list("port")
            .iter()
            .map(|port| number(port, "port"))
            .collect::<PgResult<Vec<u16>>>()?;
        let ports = if ports.is_empty() { vec![5432] } else { ports };
        if ports.len() != 1 && ports.len() != hosts.len() {
            return Err(refuse("it has neither one port nor one for each host"));
        }
        let database = word("dbname").unwrap_or(&user).to_owned();
        let seconds =
            word("connect_timeout").map_or(Ok(5), |text| number::<u64>(text, "connect_timeout"))?;
        let mut url = Self {
            hosts,
            ports,
            user,
            database,
            ssl_mode: ssl_mode(word("sslmode").unwrap_or("prefer"))?,
            root_cert: word("sslrootcert").map(str::to_owned),
            cert: word("sslcert").map(PathBuf::from),
            key: word("sslkey").map(PathBuf::from),
            channel_binding: match word("channel_binding").unwrap_or("prefer") {
                "disable" => ChannelBinding::Disable,
                "prefer" => ChannelBinding::Prefer,
                "require" => ChannelBinding::Require,
                _ => return Err(choice("channel_binding", "disable, prefer or require")),
            },
            session: match word("target_session_attrs").unwrap_or("read-write") {
                "any" => Session::Any,
                "read-write" | "primary" => Session::ReadWrite,
                "read-only" | "standby" | "prefer-standby" => Session::ReadOnly,
                _ => {
                    return Err(choice(
                        "target_session_attrs",
                        "any, read-write or read-only",
                    ));
                }
            },
            // As libpq has it, 0 means for ever, which nobody wants of a worker.
            connect_timeout: Duration::from_secs(if seconds == 0 { 60 } else { seconds.max(2) }),
            options: word("options").map(str::to_owned),
            prepare: match word("prepare") {
                None | Some("auto") => None,
                Some("off") => Some(false),
                Some("on") => Some(true),
                Some(_) => return Err(choice("prepare", "on, off or auto")),
            },
            password: word("password").map(str::to_owned),
        };
        if url.key.is_some() != url.cert.is_some() {
            return Err(refuse("sslcert and sslkey need each other"));
        }
        if url.password.is_none() {
            let file = word("passfile").map(PathBuf::from);
            url.password = passfile::find(&url, file, variables);
        }
        Ok(url)
    }

    /// Returns the password for the login itself.
    pub(super) fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// Returns the port of the host with this number.
    pub(super) fn port(&self, host: usize) -> u16 {
        let port = self.ports.get(host).or(self.ports.first());
        port.copied().unwrap_or(5432)
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |(at, host): (usize, &String)| format!("{host}:{}", self.port(at));
        let hosts: Vec<String> = self.hosts.iter().enumerate().map(shown).collect();
        write!(
            f,
            "postgresql://{}@{}/{}",
            self.user,
            hosts.join(","),
            self.database
        )
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self}, {:?})", self.ssl_mode)
    }
}

fn refuse(what: &str) -> PgError {
    PgError::Url {
        what: what.to_owned(),
    }
}

fn choice(name: &str, choices: &str) -> PgError {
    refuse(&format!("{name} is one of {choices}"))
}

fn number<T: std::str::FromStr>(text: &str, name: &str) -> PgResult<T> {
    text.parse()
        .map_err(|_| refuse(&format!("{name} is no number that can be")))
}

fn ssl_mode(word: &str) -> PgResult<SslMode> {
    match word {
        "disable" => Ok(SslMode::Disable),
        // libpq's `allow` tries without first; nobody is safer for that.
        "prefer" | "allow" => Ok(SslMode::Prefer),
        "require" => Ok(SslMode::Require),
        "verify-ca" => Ok(SslMode::VerifyCa),
        "verify-full" => Ok(SslMode::VerifyFull),
        _ => Err(choice(
            "sslmode",
            "disable, prefer, require, verify-ca or verify-full",
        )),
    }
}

/// Where libpq looks when nobody says: the socket of this machine, else the machine itself.
fn default_host() -> String {
    let folder = ["/var/run/postgresql", "/tmp"]
        .into_iter()
        .find(|folder| std::path::Path::new(folder).join(".s.PGSQL.5432").exists());
    folder.unwrap_or("localhost").to_owned()
}

/// `[user[:password]@][host[:port],…][/dbname][?key=value&…]`
fn url_words(rest: &str) -> PgResult<BTreeMap<String, String>> {
    let mut words = BTreeMap::new();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    // A password may hold an unescaped `@`: the last one counts.
    let (login, places) = authority
        .rsplit_once('@')
        .map_or(("", authority), |(login, places)| (login, places));
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let mut set = |name: &str, value: String| {
        if !value.is_empty() {
            words.insert(name.to_owned(), value);
        }
    };
    set("user", decode(user)?);
    set("password", decode(password)?);
    set("dbname", decode(database)?);
    let (mut hosts, mut ports) = (Vec::new(), Vec::new());
    for place in places.split(',').filter(|place| !place.is_empty()) {
        let (host, port) = split_place(place)?;
        hosts.push(decode(host)?);
        ports.extend(port.map(str::to_owned));
    }
    if !ports.is_empty() && ports.len() != hosts.len() {
        return Err(refuse("some of its hosts have a port and some have none"));
    }
    set("host", hosts.join(","));
    set("port", ports.join(","));
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decode(name)?, decode(value)?);
        // As libpq has it.
        let (name, value) = if name == "ssl" && value == "true" {
            ("sslmode".to_owned(), "require".to_owned())
        } else {
            (name, value)
        };
        words.insert(name, value);
    }
    Ok(words)
}

fn split_place(place: &str) -> PgResult<(&str, Option<&str>)> {
    let (host, port) = if let Some(rest) = place.strip_prefix('[') {
        let (host, after) = rest
            .split_once(']')
            .ok_or_else(|| refuse("an IPv6 address lacks its ]"))?;
        (host, after.strip_prefix(':'))
    } else {
        place
            .rsplit_once(':')
            .map_or((place, None), |(host, port)| (host, Some(port)))
    };
    Ok((host, port.filter(|port| !port.is_empty())))
}

fn decode(text: &str) -> PgResult<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
            let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else {
                return Err(refuse(
                    "a % is not followed by two hexadecimal digits; write it as %25",
                ));
            };
            bytes.extend(u8::try_from(high * 16 + low));
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).map_err(|_| refuse("it is not UTF-8"))
}

/// `key=value key='value with blanks' …`
fn plain_words(text: &str) -> PgResult<BTreeMap<String, String>> {
    let mut words = BTreeMap::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if chars.peek().is_none() {
            return Ok(words);
        }
        let mut name = String::new();
        while let Some(c) = chars.next_if(|c| *c != '=' && !c.is_whitespace()) {
            name.push(c);
        }
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if chars.next_if_eq(&'=').is_none() {
            // Not even the name is shown: it may be a password that was put in the wrong place.
            return Err(refuse(
                "it is neither a URL nor words of the form key=value",
            ));
        }
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        let quoted = chars.next_if_eq(&'\'').is_some();
        let mut value = String::new();
        loop {
            match chars.next() {
                Some('\\') => value.extend(chars.next()),
                Some('\'') if quoted => break,
                Some(c) if c.is_whitespace() && !quoted => break,
                Some(c) => value.push(c),
                None if quoted => return Err(refuse("a quote is not closed")),
                None => break,
            }
        }
        words.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> PgResult<StoreUrl> {
        StoreUrl::parse(text, &|_| None, "me")
    }

    fn url(text: &str) -> StoreUrl {
        parse(text).expect("a URL that can be used")
    }

    #[test]
    fn both_forms_say_the_same() {
        let one =
            url("postgresql://ann:s%40crt@db.example:6543/shop?sslmode=verify-full&prepare=off");
        let other = url(
            r"host=db.example port=6543 user=ann password='s@crt' dbname = shop sslmode=verify-full prepare=off",
        );
        assert_eq!(one, other);
        assert_eq!(one.password(), Some("s@crt"));
        assert_eq!(one.prepare, Some(false));
        assert_eq!(one.ssl_mode, SslMode::VerifyFull);
    }

    #[test]
    fn a_password_is_never_shown() {
        for text in [
            "postgresql://ann:hunter2@h/d",
            "postgresql://ann:hun@ter2@h/d",
            "host=h user=ann password=hunter2",
            "host=h user=ann password='hunter2'",
        ] {
            let url = url(text);
            for shown in [format!("{url}"), format!("{url:?}"), format!("{url:#?}")] {
                assert!(
                    !shown.contains("hunter2") && !shown.contains("ter2"),
                    "{shown}"
                );
            }
        }
        for text in [
            "hunter2",
            "mysql://ann:hunter2@h",
            "postgresql://h/d?passwort=hunter2",
            "postgresql://ann:hunter2@h:port/d",
            "postgresql://ann:hunter2%@h/d",
            "password='hunter2",
        ] {
            let error = parse(text).expect_err("refused");
            let shown = format!("{error} {error:?} {}", error.hint());
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn variables_stand_in_for_what_is_left_out() {
        let variables = |name: &str| match name {
            "PGHOST" => Some("/run/pg".to_owned()),
            "PGUSER" => Some("bob".to_owned()),
            "PGPASSWORD" => Some("pw".to_owned()),
            "PGPORT" => Some("7000".to_owned()),
            "PGSSLMODE" => Some("require".to_owned()),
            _ => None,
        };
        let found = StoreUrl::parse("postgres:///x?port=7001", &variables, "me").expect("usable");
        assert_eq!(found.to_string(), "postgresql://bob@/run/pg:7001/x");
        assert_eq!(found.password(), Some("pw"));
        assert_eq!(found.ssl_mode, SslMode::Require);
        assert_eq!(url("postgresql://h").database, "me");
    }

    #[test]
    fn several_hosts_keep_their_ports() {
        let found = url("postgresql://u@a:1,[::1]:2,c:3/d?target_session_attrs=any");
        assert_eq!(found.hosts, ["a", "::1", "c"]);
        assert_eq!(found.ports, [1, 2, 3]);
        assert_eq!(found.session, Session::Any);
        assert!(parse("postgresql://u@a:1,b/d").is_err());
    }

    #[test]
    fn what_a_cloud_adds_is_understood_and_a_slip_is_named() {
        let found = url(
            "postgres://u:p@h/d?sslmode=require&sslrootcert=/ca.pem&connect_timeout=10&application_name=x&pgbouncer=true",
        );
        assert_eq!(found.root_cert.as_deref(), Some("/ca.pem"));
        assert_eq!(found.connect_timeout, Duration::from_secs(10));
        let error = parse("postgres://h/d?ssl_mode=require").expect_err("a slip");
        assert!(error.to_string().contains("ssl_mode"), "{error}");
    }
}

//! Getting in, or being told in one line why not; the password is never shown.

use std::path::PathBuf;

use archi3d_core::store::postgres::{Connection, PgError, StoreUrl, migrate};

use super::Bench;
use super::bench::{parse, server};

const PASSWORD: &str = "hunter2-secret";

/// A role with a password, and how to reach the server by TLS.
struct Login {
    bench: Bench,
    role: String,
    tls: PathBuf,
    port: String,
}

impl Login {
    fn new() -> Option<Self> {
        let place = server("ARCHI3D_TEST_POSTGRES_TLS")?;
        let (tls, port) = place.rsplit_once(':').expect("folder:port");
        let mut bench = Bench::new()?;
        let role = format!("role_{}", uuid::Uuid::new_v4().simple());
        bench.run(&format!("CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'"));
        let (tls, port) = (PathBuf::from(tls), port.to_owned());
        Some(Self {
            bench,
            role,
            tls,
            port,
        })
    }

    fn url(&self, host: &str, rest: &str) -> StoreUrl {
        let (role, port, database) = (&self.role, &self.port, &self.bench.url.database);
        parse(&format!(
            "postgresql://{role}:{PASSWORD}@{host}:{port}/{database}?{rest}"
        ))
    }

    fn open(&self, host: &str, rest: &str) -> Result<bool, PgError> {
        let mut connection = Connection::open(&self.url(host, rest), "archi3d/tls")?;
        let _ = migrate::check(&mut connection);
        Ok(!connection.is_closed())
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        let role = &self.role;
        let _ = self
            .bench
            .admin
            .batch_execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    }
}

#[test]
fn each_sslmode_asks_for_what_it_promises() {
    let Some(login) = Login::new() else { return };
    let ca = login.tls.join("ca.crt").display().to_string();
    let other = login.tls.join("other-ca.crt").display().to_string();
    // The certificate is made out to localhost alone.
    let table = [
        ("127.0.0.1", "sslmode=disable".to_owned(), true),
        ("127.0.0.1", "sslmode=prefer".to_owned(), true),
        ("127.0.0.1", "sslmode=require".to_owned(), true),
        (
            "127.0.0.1",
            "sslmode=require&channel_binding=require".to_owned(),
            true,
        ),
        (
            "127.0.0.1",
            "sslmode=disable&channel_binding=require".to_owned(),
            false,
        ),
        (
            "127.0.0.1",
            format!("sslmode=require&sslrootcert={other}"),
            false,
        ),
        (
            "127.0.0.1",
            format!("sslmode=verify-ca&sslrootcert={ca}"),
            true,
        ),
        (
            "127.0.0.1",
            format!("sslmode=verify-ca&sslrootcert={other}"),
            false,
        ),
        ("127.0.0.1", "sslmode=verify-ca".to_owned(), false),
        (
            "localhost",
            format!("sslmode=verify-full&sslrootcert={ca}"),
            true,
        ),
        (
            "127.0.0.1",
            format!("sslmode=verify-full&sslrootcert={ca}"),
            false,
        ),
        (
            "localhost",
            format!("sslmode=verify-full&sslrootcert={other}"),
            false,
        ),
        (
            "localhost",
            "sslmode=verify-full&sslrootcert=system".to_owned(),
            false,
        ),
        (
            "localhost",
            "sslmode=verify-full&sslrootcert=/nowhere.crt".to_owned(),
            false,
        ),
    ];
    for (host, rest, works) in table {
        let opened = login.open(host, &rest);
        assert_eq!(opened.is_ok(), works, "{host} {rest}: {opened:?}");
        if let Err(error) = opened {
            assert!(!format!("{error} {error:?}").contains(PASSWORD), "{error}");
        }
    }
}

#[test]
fn a_client_with_a_certificate_needs_no_password() {
    let Some(mut login) = Login::new() else {
        return;
    };
    let tls = login.tls.clone();
    let file = |name: &str| tls.join(name).display().to_string();
    // The certificate names its role, which belongs to the whole server and stays.
    let _ = login
        .bench
        .admin
        .batch_execute("CREATE ROLE archi3d_cert LOGIN");
    let (port, database) = (&login.port, &login.bench.url.database);
    let (ca, cert, key) = (file("ca.crt"), file("client.crt"), file("client.key"));
    let url = format!(
        "postgresql://archi3d_cert@localhost:{port}/{database}?sslmode=verify-full&sslrootcert={ca}"
    );
    let with = Connection::open(
        &parse(&format!("{url}&sslcert={cert}&sslkey={key}")),
        "archi3d/cert",
    );
    let without = Connection::open(&parse(&url), "archi3d/cert");
    assert!(with.is_ok(), "{with:?}");
    assert!(without.is_err());
}

#[test]
fn a_wrong_password_and_a_server_that_is_not_there_are_told_apart() {
    let Some(login) = Login::new() else { return };
    let wrong = login
        .url("127.0.0.1", "")
        .to_string()
        .replace('@', ":nonsense-pw@");
    let error = Connection::open(&parse(&wrong), "archi3d/x").expect_err("refused");
    assert!(matches!(error, PgError::WrongPassword { .. }), "{error:?}");
    assert!(!format!("{error} {error:?} {}", error.hint()).contains("nonsense-pw"));
    let none = login.url("127.0.0.1", "").to_string();
    let error = Connection::open(&parse(&none), "archi3d/x").expect_err("no password at all");
    assert!(matches!(error, PgError::WrongPassword { .. }), "{error:?}");
    let error = Connection::open(&parse("postgresql://u:hunter2-secret@127.0.0.1:1/d"), "x")
        .expect_err("nobody");
    assert!(
        matches!(error, PgError::CannotConnect { .. }) && error.is_retryable(),
        "{error:?}"
    );
    assert!(!format!("{error:?}").contains(PASSWORD));
}

#[test]
fn a_password_file_is_read_if_nobody_else_may_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(login) = Login::new() else { return };
    let folder = tempfile::tempdir().expect("temp folder");
    let path = folder.path().join("pgpass");
    std::fs::write(
        &path,
        format!(
            "# ours\n127.0.0.1:{}:*:{}:{PASSWORD}\n",
            login.port, login.role
        ),
    )
    .expect("written");
    let open = |mode: u32| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("set");
        let url = login.url("127.0.0.1", "").to_string();
        let url = parse(&format!("{url}?passfile={}", path.display()));
        assert!(!format!("{url:?}").contains(PASSWORD));
        Connection::open(&url, "archi3d/pgpass").is_ok()
    };
    assert!(open(0o600));
    assert!(!open(0o644));
}

#[test]
fn a_role_that_may_only_read_is_told_so() {
    let Some(mut login) = Login::new() else {
        return;
    };
    let role = login.role.clone();
    login.bench.run(&format!("GRANT USAGE ON SCHEMA archi3d TO {role}; GRANT SELECT ON ALL TABLES IN SCHEMA archi3d TO {role}"));
    let mut connection =
        Connection::open(&login.url("127.0.0.1", ""), "archi3d/reader").expect("connected");
    let error = migrate::require(&mut connection).expect_err("it may only read");
    assert!(
        matches!(error, PgError::ReadOnly { .. }) && error.is_setup(),
        "{error:?}"
    );
}

#[test]
fn a_server_that_only_reads_is_no_place_to_work() {
    let Some(mut login) = Login::new() else {
        return;
    };
    let database = login.bench.url.database.clone();
    login.bench.run(&format!(
        "ALTER DATABASE {database} SET default_transaction_read_only = on"
    ));
    let error = Connection::open(&login.url("127.0.0.1", ""), "archi3d/x").expect_err("read only");
    assert!(matches!(error, PgError::ReadOnly { .. }), "{error:?}");
    assert!(
        Connection::open(
            &login.url("127.0.0.1", "target_session_attrs=any"),
            "archi3d/x"
        )
        .is_ok()
    );
}

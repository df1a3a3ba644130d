//! A wake-up channel beside the database: Redis, as publisher and subscriber of one channel per run.
//!
//! It only wakes. What is there to do is always asked of the tables, so messages that are lost, doubled or made up change
//! nothing; without any, a worker polls.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::act;
use super::worker::PgStore;
use crate::store::StoreNotice;

/// How long anybody waits for an answer, and looks whether to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// No line of an answer is longer than this.
const LONGEST: u64 = 4096;

/// Where Redis is, and who we are there.
#[derive(Clone, PartialEq, Eq)]
pub struct Wake {
    place: String,
    user: Option<String>,
    password: Option<String>,
}

impl std::fmt::Debug for Wake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Wake({})", self.place)
    }
}

impl Wake {
    /// Reads `redis://[USER:PASSWORD@]HOST[:PORT]`; says what is wrong without the password.
    pub fn parse(url: &str) -> Result<Self, String> {
        let form = "write it as redis://HOST:6379 or redis://:PASSWORD@HOST";
        let rest = url.strip_prefix("redis://");
        let rest =
            rest.ok_or_else(|| format!("the wake-up channel is no redis:// address; {form}"))?;
        let rest = rest.split('/').next().unwrap_or_default();
        let (login, place) = rest.rsplit_once('@').unwrap_or(("", rest));
        if place.is_empty() {
            return Err(format!("the wake-up channel has no host; {form}"));
        }
        let port_given = place
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let place = if port_given {
            place.to_owned()
        } else {
            format!("{place}:6379")
        };
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Ok(Self {
            place,
            user: text(user),
            password: text(password),
        })
    }

    /// Tells whoever listens that a run may have something new; trouble is only told.
    pub fn tell(&self, run_no: i64) -> io::Result<()> {
        let mut talk = self.connect()?;
        send(talk.get_mut(), &["PUBLISH", &act::channel(run_no), "news"])?;
        line(&mut talk).map(drop)
    }

    /// Looks whether it answers.
    pub fn reach(&self) -> io::Result<()> {
        let mut talk = self.connect()?;
        send(talk.get_mut(), &["PING"])?;
        line(&mut talk).map(drop)
    }

    fn connect(&self) -> io::Result<BufReader<TcpStream>> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in self.place.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(PATIENCE))?;
                    stream.set_write_timeout(Some(PATIENCE))?;
                    let mut talk = BufReader::new(stream);
                    if let Some(password) = &self.password {
                        let words = match &self.user {
                            Some(user) => vec!["AUTH", user, password],
                            None => vec!["AUTH", password],
                        };
                        send(talk.get_mut(), &words)?;
                        line(&mut talk)?;
                    }
                    return Ok(talk);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Raises `news` whenever anything is said, until `ended`.
    fn listen(&self, channel: &str, news: &AtomicBool, ended: &AtomicBool) -> io::Result<()> {
        let mut talk = self.connect()?;
        send(talk.get_mut(), &["SUBSCRIBE", channel])?;
        // Whatever was said before we listened was not heard.
        news.store(true, Ordering::SeqCst);
        while !ended.load(Ordering::SeqCst) {
            match line(&mut talk) {
                Ok(_) => news.store(true, Ordering::SeqCst),
                Err(error) if is_silence(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Whether people know that Redis is away.
static TOLD: AtomicBool = AtomicBool::new(false);

impl PgStore {
    /// Hears of news from Redis too, until the store is closed.
    pub fn hear_from(&self, wake: Wake) {
        let (news, ended) = (Arc::clone(&self.news), Arc::clone(&self.ended));
        let channel = act::channel(self.link.run_no);
        let notices = self.link.notices();
        std::thread::spawn(move || {
            while !ended.load(Ordering::SeqCst) {
                let heard = wake.listen(&channel, &news, &ended);
                // Of all runs that a process serves one tells it.
                if let Err(error) = heard
                    && !ended.load(Ordering::SeqCst)
                    && !TOLD.swap(true, Ordering::SeqCst)
                {
                    notices(StoreNotice::Warning(format!(
                        "Redis at {} does not wake this worker ({error}); it is tried again, and new jobs are looked for \
                         without it",
                        wake.place
                    )));
                }
                std::thread::sleep(PATIENCE / 4);
            }
        });
    }
}

fn is_silence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

fn send(stream: &mut TcpStream, words: &[&str]) -> io::Result<()> {
    let words: Vec<String> = words
        .iter()
        .map(|word| format!("${}\r\n{word}\r\n", word.len()))
        .collect();
    stream.write_all(format!("*{}\r\n{}", words.len(), words.concat()).as_bytes())
}

/// Returns one line of an answer; what it says matters only if it refuses.
fn line(talk: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    if talk.by_ref().take(LONGEST).read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    match line.strip_prefix('-') {
        Some(reason) => Err(io::Error::other(reason.trim_end().to_owned())),
        None => Ok(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_a_password_never_shown() {
        let wake = Wake::parse("redis://u:secret@h/0").expect("an address");
        assert_eq!(wake.place, "h:6379");
        assert_eq!(
            (wake.user.as_deref(), wake.password.as_deref()),
            (Some("u"), Some("secret"))
        );
        assert!(!format!("{wake:?}").contains("secret"));
        assert_eq!(Wake::parse("redis://h:7").expect("an address").place, "h:7");
        for wrong in ["h:6379", "redis://", "rediss://h", "redis://u:secret@"] {
            let said = Wake::parse(wrong).expect_err("refused");
            assert!(!said.contains("secret"));
        }
    }
}

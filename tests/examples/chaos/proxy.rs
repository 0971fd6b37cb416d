//! This file knows what may happen to bytes on their way: nothing, mostly; a pause, another byte in
//! the place of one, or the end of the connection.

use core::fmt;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io;
use std::sync::Arc;

use evenkeel_core::{Random, SmallRng};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// What all proxies did to connections, and how often.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Closed before a byte had passed.
    refused: AtomicU64,
    /// Broken off with calls on it.
    killed: AtomicU64,
    corrupted: AtomicU64,
    delayed: AtomicU64,
}

impl Faults {
    /// Each kind with its number.
    pub(crate) fn all(&self) -> [(&'static str, u64); 4] {
        [
            ("refused", &self.refused),
            ("killed", &self.killed),
            ("corrupted", &self.corrupted),
            ("delayed", &self.delayed),
        ]
        .map(|(kind, count)| (kind, count.load(Ordering::Relaxed)))
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.all().map(|(kind, count)| format!("{count} {kind}"));
        f.write_str(&all.join(", "))
    }
}

/// A proxy before `server`, in the background of the runtime it is called in.
pub(crate) async fn before(
    server: SocketAddr,
    seed: u32,
    faults: Arc<Faults>,
) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let mut rng = SmallRng::seeded(seed);
        while let Ok((client, _)) = listener.accept().await {
            let [there, back] = [(); 2].map(|()| Fate::draw(&mut rng, &faults));
            if rng.next_u32().is_multiple_of(16) {
                one_more(&faults.refused);
            } else {
                tokio::spawn(connect(client, server, there, back));
            }
        }
    });
    Ok(address)
}

/// What one direction of a connection has before it.
struct Fate {
    rng: SmallRng,
    /// After so many bytes it breaks off.
    ends_at: u64,
    /// The byte that is another one.
    corrupt_at: u64,
    faults: Arc<Faults>,
}

impl Fate {
    fn draw(rng: &mut SmallRng, faults: &Arc<Faults>) -> Self {
        let mut bytes = |least: u32, span: u32| u64::from(least + rng.next_u32() % span);
        // Some hundred to some thousand calls; every eighth direction has a byte corrupted first.
        let (ends_at, corrupt_at) = (bytes(10_000, 400_000), bytes(100, 1_600_000));
        let (rng, faults) = (SmallRng::seeded(rng.next_u32()), Arc::clone(faults));
        Self { rng, ends_at, corrupt_at, faults }
    }

    /// True in one of so many cases.
    fn one_in(&mut self, cases: u32) -> bool {
        self.rng.next_u32().is_multiple_of(cases)
    }
}

async fn connect(client: TcpStream, server: SocketAddr, there: Fate, back: Fate) -> io::Result<()> {
    let server = TcpStream::connect(server).await?;
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
        // Dropped, it breaks off (RST) instead of ending.
        stream.set_zero_linger()?;
    }
    let ((from_client, to_client), (from_server, to_server)) =
        (client.into_split(), server.into_split());
    // Whichever direction ends takes the other one with it.
    tokio::select! {
        _ = forward(from_client, to_server, there) => {}
        _ = forward(from_server, to_client, back) => {}
    }
    Ok(())
}

async fn forward(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut fate: Fate,
) -> io::Result<()> {
    let (mut buffer, mut passed) = (vec![0; 16 * 1024], 0_u64);
    loop {
        let count = from.read(&mut buffer).await?;
        let chunk = &mut buffer[..count];
        if count == 0 {
            return Ok(());
        }
        if passed > fate.ends_at {
            one_more(&fate.faults.killed);
            return Ok(());
        }
        let here = fate.corrupt_at.checked_sub(passed).and_then(|at| usize::try_from(at).ok());
        if let Some(byte) = here.and_then(|at| chunk.get_mut(at)) {
            *byte ^= 1 << (fate.rng.next_u32() % 8);
            one_more(&fate.faults.corrupted);
        }
        if fate.one_in(1_000) {
            one_more(&fate.faults.delayed);
            sleep(Duration::from_millis(u64::from(fate.rng.next_u32() % 30))).await;
        }
        to.write_all(chunk).await?;
        passed += count as u64;
    }
}

fn one_more(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

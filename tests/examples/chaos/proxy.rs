//! This file knows what may happen to bytes on their way: nothing, mostly; a pause, another byte in
//! the place of one, or the end of the connection.

use core::net::SocketAddr;
use core::time::Duration;
use std::io;

use evenkeel_core::{Random, SmallRng};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// A proxy before `server`, in the background of the runtime it is called in.
pub(crate) async fn before(server: SocketAddr, seed: u32) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let mut rng = SmallRng::seeded(seed);
        while let Ok((client, _)) = listener.accept().await {
            let (there, back) = (Fate::draw(&mut rng), Fate::draw(&mut rng));
            // One in sixteen is closed at once.
            if !rng.next_u32().is_multiple_of(16) {
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
}

impl Fate {
    fn draw(rng: &mut SmallRng) -> Self {
        let mut bytes = |least: u32, span: u32| u64::from(least + rng.next_u32() % span);
        // Some hundred to some thousand calls; every fourth direction has a byte corrupted first.
        let (ends_at, corrupt_at) = (bytes(100_000, 4_000_000), bytes(100, 16_000_000));
        Self { rng: SmallRng::seeded(rng.next_u32()), ends_at, corrupt_at }
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
        if count == 0 || passed > fate.ends_at {
            return Ok(());
        }
        let here = fate.corrupt_at.checked_sub(passed).and_then(|at| usize::try_from(at).ok());
        if let Some(byte) = here.and_then(|at| chunk.get_mut(at)) {
            *byte ^= 1 << (fate.rng.next_u32() % 8);
        }
        if fate.one_in(1_000) {
            sleep(Duration::from_millis(u64::from(fate.rng.next_u32() % 30))).await;
        }
        to.write_all(chunk).await?;
        passed += count as u64;
    }
}

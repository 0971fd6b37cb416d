//! This file knows a server that misbehaves on request.
//!
//! A request is `<number> <what> <argument>`. The faults that take an argument of n apply to the
//! first n attempts at that number; the next one is answered.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::cable::Cable;
use crate::ledger::Ledger;

/// Listens on a free port of this machine alone, and answers which.
///
/// # Errors
///
/// When there is none.
pub(crate) fn start(ledger: Arc<Ledger>, cable: Cable) -> io::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let (ledger, cable) = (Arc::clone(&ledger), cable.clone());
            // An error here is what the firmware did on purpose: it hung up.
            thread::spawn(move || serve(&connection, &ledger, &cable));
        }
    });
    Ok(port)
}

fn serve(connection: &TcpStream, ledger: &Arc<Ledger>, cable: &Cable) -> io::Result<()> {
    connection.set_read_timeout(Some(Duration::from_secs(10)))?;
    let line = first_line(connection)?;
    let mut words = line.split_whitespace();
    let number: u32 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let what = words.next().unwrap_or("");
    let argument: u32 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let attempt = ledger.attempt(number);
    if what == "reset" && attempt <= argument {
        // A kernel that closes a connection with something unread answers with a reset.
        return Ok(());
    }
    (&*connection).read_exact(&mut [0])?;
    let answer = |words: &str| (&*connection).write_all(words.as_bytes());
    let ok = format!("{number} ok {attempt}\n");
    match what {
        "late" => {
            thread::sleep(Duration::from_millis(argument.into()));
            answer(&ok)
        }
        "bad" => answer(&format!("{number} bad\n")),
        "deaf" => {
            ledger.go_deaf(argument);
            answer(&ok)
        }
        "item" if ledger.is_deaf() => Ok(()),
        "item" => {
            ledger.acknowledged(argument);
            answer(&ok)
        }
        "unplug" => {
            answer(&ok)?;
            let (ledger, cable) = (Arc::clone(ledger), cable.clone());
            thread::spawn(move || {
                // The answer is on its way; the cable follows it.
                thread::sleep(Duration::from_millis(20));
                if let Err(fault) = cable.pull(Duration::from_millis(argument.into())) {
                    ledger.failed(format!("the cable is stuck: {fault}"));
                }
            });
            Ok(())
        }
        "ok" => answer(&ok),
        _ if attempt > argument => answer(&ok),
        "close" => Ok(()),
        "busy" => answer(&format!("{number} busy 150\n")),
        "torn" => answer(&format!("{number} o")),
        "garbage" => (&*connection).write_all(b"\xff\x00\xfe garbage\n"),
        "silent" => until_it_hangs_up(connection),
        _ => Ok(()),
    }
}

/// The line, without its end, which stays unread.
fn first_line(mut connection: &TcpStream) -> io::Result<String> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while connection.peek(&mut byte)? != 0 && byte != *b"\n" {
        connection.read_exact(&mut byte)?;
        line.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

fn until_it_hangs_up(connection: &TcpStream) -> io::Result<()> {
    (&*connection).read_to_end(&mut Vec::new()).map(|_| ())
}

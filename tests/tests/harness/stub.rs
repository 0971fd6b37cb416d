//! That the stub says the same as the peer, and that a call can be dropped at each of its polls.

use crate::client_of;
use core::time::Duration;
use evenkeel_tests::{Last, RawClient, Reason, Reply, Stub, drain, drop_at_every_poll};
use tonic::{Code, Status};

/// Everything both can say, in the same code.
#[tokio::test(start_paused = true)]
async fn it_ends_like_the_peer() {
    for reply in [
        Reply::ok("pong"),
        Reply::status(Status::unavailable("busy")).trailer("grpc-retry-pushback-ms", "5"),
        Reply::headers().end(Status::aborted("")),
        Reply::headers().message("pong").end(Status::data_loss("")),
        Reply::headers().message("pong").end_without_status(),
        Reply::headers().half("pong").end(Status::ok("")),
        Reply::http(429),
        Reply::hang().reset(Reason::REFUSED_STREAM),
        Reply::hang().reset(Reason::NO_ERROR).after(Duration::from_secs(1)),
        Reply::hang().go_away(Last::Before, Reason::ENHANCE_YOUR_CALM),
        Reply::hang().go_away(Last::This, Reason::NO_ERROR).close(),
        Reply::hang().flood(64),
        Reply::headers().message("pong").reset(Reason::CANCEL),
        Reply::headers().message("pong").abort(),
    ] {
        let (mut real, _peer) = client_of([reply.clone()]);
        let stub = Stub::new([reply.clone()]);
        let expected = real.unary("ping").await.map(tonic::Response::into_inner);
        let answer = RawClient::new(stub.clone()).unary("ping").await;
        let answer = answer.map(tonic::Response::into_inner);
        match (&answer, &expected) {
            (Ok(answer), Ok(expected)) => assert_eq!(answer, expected),
            (Err(answer), Err(expected)) => assert_eq!(answer.code(), expected.code(), "{reply:?}"),
            _ => panic!("{reply:?}: {answer:?}, {expected:?}"),
        }
        assert_eq!((stub.count(), stub.requests().len()), (1, 1));
        assert_eq!(stub.requests()[0].messages(), [b"ping"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_breaks_in_the_middle() {
    let reply = Reply::headers().messages(["1", "2"]).reset(Reason::REFUSED_STREAM);
    let stub = Stub::new([reply]);
    let stream = RawClient::new(stub.clone()).server_streaming("watch").await.unwrap();
    let (messages, status) = drain(stream.into_inner()).await;
    assert_eq!(messages, ["1", "2"]);
    assert_eq!(status.unwrap().code(), Code::Unavailable);
    assert_eq!(stub.requests()[0].reset, None, "the caller did not go away");
}

#[tokio::test(start_paused = true)]
async fn a_canned_one_only_counts() {
    let stub = Stub::canned(Reply::ok("pong"));
    for _ in 0..3 {
        RawClient::new(stub.clone()).unary("ping").await.unwrap();
    }
    assert_eq!((stub.count(), stub.requests().len()), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_can_be_dropped_at_each_of_its_polls() {
    let stub = Stub::new([Reply::ok("pong")]).lazy();
    let mut client = RawClient::new(stub.clone());
    let mut clients = core::iter::repeat_with(|| client.clone());
    let call = || {
        let mut client = clients.next().unwrap();
        async move { client.unary("ping").await.unwrap() }
    };
    let polls = drop_at_every_poll(call, async |polls| {
        let requests = stub.requests();
        // Nothing is asked before the first poll; after that, one more request each time.
        assert_eq!(requests.len(), polls);
        let dropped = requests.iter().filter(|seen| seen.reset.is_some()).count();
        assert_eq!(dropped, polls.min(3));
    });
    // Before the headers, before the message, before the trailers, and then it is done.
    assert_eq!(polls.await, 4);
    client.unary("ping").await.unwrap();
}

//! What is never told: O7, metadata, messages, and the errors of sensitive methods.

use evenkeel_tests::Reply;
use evenkeel_tonic::AllowList;
use tonic::{Code, Request, Status};

use crate::figures::Figures;
use crate::lab::{ECHO, Lab, SECRET, busy, client, fails, opens_after, retries};
use crate::tracer::Tracer;

#[tokio::test(start_paused = true)]
async fn o07_the_text_of_an_error_is_told_only_of_faults() {
    for number in 1..=16 {
        let code = Code::from_i32(number);
        let tracer = Tracer::begin();
        let lab = Lab::new(client().spans(), [fails(code)]);
        lab.unary(ECHO).await.unwrap_err();
        let fault = matches!(code, Code::Internal | Code::Unknown | Code::DataLoss);
        let told = tracer.spans("call")[0].field("error.message").map(str::to_owned);
        assert_eq!(told.as_deref(), fault.then_some(SECRET), "{code:?}");
        assert_eq!(tracer.everything().contains(SECRET), fault, "{code:?}");
    }
}

/// No code at all is a fault too.
#[tokio::test(start_paused = true)]
async fn o07_an_answer_without_a_code_is_a_fault() {
    let tracer = Tracer::begin();
    let reply = Reply::headers().message("pong").end_without_status();
    let lab = Lab::new(client().spans(), [reply]);
    lab.unary(ECHO).await.unwrap_err();
    assert!(tracer.spans("call")[0].field("error.message").is_some());
}

#[tokio::test(start_paused = true)]
async fn of_a_sensitive_method_only_the_code_is_told() {
    for number in 1..=16 {
        let (tracer, figures) = (Tracer::begin(), Figures::new());
        let builder = client().spans().metrics(&figures.metrics);
        let builder = builder.sensitive(AllowList::new([ECHO]).unwrap());
        let builder = builder.retry(retries(3, 10)).breaker(opens_after(2));
        let lab = Lab::new(builder, [fails(Code::from_i32(number))]);
        for _ in 0..2 {
            lab.unary(ECHO).await.unwrap_err();
        }
        let told = tracer.everything();
        assert!(told.contains("Sent.lab.v1.Lab/Echo") && !told.contains(SECRET), "{told}");
        let labels = figures.read();
        let all = labels.instruments().flat_map(|(_, one)| &one.series);
        assert!(!all.flat_map(|series| series.labels.values()).any(|label| label == SECRET));
    }
}

#[tokio::test(start_paused = true)]
async fn neither_metadata_nor_messages_are_told() {
    let tracer = Tracer::begin();
    let status = Status::with_details(Code::Internal, "broke", "the details".into());
    let reply = Reply::status(status).header("set-cookie", "their-cookie");
    let lab = Lab::new(client().spans().retry(retries(2, 10)), [busy(), reply]);
    let mut request = Request::new("the message");
    request.metadata_mut().insert("authorization", "the-token".parse().unwrap());
    lab.client(ECHO).unary(request).await.unwrap_err();
    let told = tracer.everything();
    for secret in ["the message", "the-token", "their-cookie", "the details"] {
        assert!(!told.contains(secret), "{secret}: {told}");
    }
}

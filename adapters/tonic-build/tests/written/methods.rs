/// What the `.proto` says of every method: its path, what it streams, whether it may be repeated.
pub static METHODS: ::evenkeel_tonic::MethodTable = {
    use ::evenkeel_tonic::{Idempotency, MethodInfo, MethodKind, MethodTable};
    const ROWS: &[MethodInfo] = &[
        MethodInfo::new("/Bare/Send", MethodKind::Unary, Idempotency::Idempotent),
        MethodInfo::new("/acme.v1.Orders/Discuss", MethodKind::Unary, Idempotency::Unknown),
        MethodInfo::new("/acme.v1.Orders/Get", MethodKind::Unary, Idempotency::NoSideEffects),
        MethodInfo::new("/acme.v1.Orders/List", MethodKind::ServerStreaming, Idempotency::NoSideEffects),
        MethodInfo::new("/acme.v1.Orders/Place", MethodKind::Unary, Idempotency::Unknown),
        MethodInfo::new("/acme.v1.Orders/Replace", MethodKind::Unary, Idempotency::Idempotent),
        MethodInfo::new("/acme.v1.Orders/Sync", MethodKind::BidiStreaming, Idempotency::Idempotent),
        MethodInfo::new("/acme.v1.Orders/Upload", MethodKind::ClientStreaming, Idempotency::Unknown),
        MethodInfo::new("/acme.v1.Returns/Open", MethodKind::Unary, Idempotency::Unknown),
        MethodInfo::new("/acme.v1.admin.Orders/Get", MethodKind::Unary, Idempotency::Unknown),
        MethodInfo::new("/type.match.Self/Self", MethodKind::Unary, Idempotency::Unknown),
        MethodInfo::new("/type.match.Self/async", MethodKind::Unary, Idempotency::Unknown),
        MethodInfo::new("/type.match.fn/type", MethodKind::ServerStreaming, Idempotency::NoSideEffects),
    ];
    MethodTable::new(ROWS)
};

//! What a build without TLS says of a pool that did not ask to do without.

use evenkeel_tonic::{BuildError, Pool, Resilient};

#[test]
fn a_pool_is_not_insecure_by_accident() {
    let pool = Pool::builder().target("orders:443").unwrap();
    let built = Resilient::builder().build_pool(pool);
    if cfg!(not(any(feature = "tls-ring", feature = "tls-aws-lc"))) {
        let error = built.unwrap_err();
        assert!(matches!(error, BuildError::Refused { field: "channel.tls", .. }));
        assert!(error.to_string().contains("turn on the feature tls-ring"), "{error}");
    } else if cfg!(not(any(feature = "tls-native-roots", feature = "tls-webpki-roots"))) {
        let error = built.unwrap_err();
        assert!(
            matches!(error, BuildError::Refused { field: "channel.tls.ca_file", .. }),
            "{error}"
        );
    } else {
        assert!(built.is_ok());
    }
}
